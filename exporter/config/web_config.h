/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The web configuration file, with the keys of Prometheus' exporter-toolkit for
 * TLS, headers, users and the rate of requests.
 *
 * The file is read again when it has changed. While it has an error, all
 * requests are refused; a change to the use of TLS or to the kind of client
 * authentication is one. TLS' versions, suites and curves, client authorities
 * and an inline certificate do not change after the start.
 */
#ifndef KF_EXPORTER_CONFIG_WEB_CONFIG_H
#define KF_EXPORTER_CONFIG_WEB_CONFIG_H

#include "exporter/config/suites.h"

#define KF_MAX_USERS 64
#define KF_MAX_SANS 64
#define KF_NR_WEB_HEADERS 5

enum kf_client_auth {
	KF_CLIENT_NONE,
	KF_CLIENT_REQUEST,
	KF_CLIENT_REQUIRE_ANY,
	KF_CLIENT_VERIFY_IF_GIVEN,
	KF_CLIENT_REQUIRE_AND_VERIFY,
	KF_NR_CLIENT_AUTHS
};

struct kf_web_user {
	char *name;
	char *hash; /* bcrypt */
};

/* Certificates or a key: in a file, or in the configuration itself. */
struct kf_web_pem {
	char *file;
	char *text;
};

/* Constant once read; a NULL string was not given. */
struct kf_web_config {
	bool tls;
	struct kf_web_pem cert;
	struct kf_web_pem key;
	struct kf_web_pem client_ca; /* none: no file and no text */
	enum kf_client_auth client_auth;
	unsigned int min_version; /* of TLS, in tenths: 10 to 13 */
	unsigned int max_version;
	struct kf_suites suites;
	unsigned int nr_sans; /* 0: any certificate that is right */
	char *san[KF_MAX_SANS];
	unsigned int burst; /* requests at once */
	double interval_s;  /* between requests on average; 0: no limit */
	char *header[KF_NR_WEB_HEADERS];
	unsigned int nr_users;
	struct kf_web_user user[KF_MAX_USERS];
};

static inline bool kf_web_pem_is_set(const struct kf_web_pem *p)
{
	return p->file || p->text;
}

/* The headers that may be set, in the order of @header. */
extern const char *const kf_web_header_names[KF_NR_WEB_HEADERS];

/**
 * kf_web_config_read() - read and check a web configuration
 * @c:		out: the result; release it in any case
 * @path:	the file
 * @error:	out: one line, if the file has an error
 * @size:	bytes of @error
 *
 * Relative paths in the file are relative to its directory.
 *
 * Return: true if the file is valid.
 */
bool kf_web_config_read(struct kf_web_config *c, const char *path, char *error,
			size_t size);

/**
 * kf_web_config_release() - free a configuration
 * @c:		the configuration
 */
void kf_web_config_release(struct kf_web_config *c);

#endif
