/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The current web configuration, and authentication.
 *
 * A wrong password takes the same time for existing and unknown users, whatever
 * the bcrypt cost of each user, and hashes are compared in constant time.
 * Guesses use at most one processor, and each address has a limited number a
 * minute. A password that was accepted before does not count as a guess.
 */
#ifndef KF_EXPORTER_HTTP_WEB_H
#define KF_EXPORTER_HTTP_WEB_H

#include "exporter/http/peer.h"
#include "exporter/config/web_config.h"

struct kf_web;

/**
 * kf_web_open() - load a web configuration
 * @path:	the file; NULL: none, and no authentication
 * @max_wrong:	wrong passwords allowed per minute and address; 0: no limit
 *
 * Context: once, before there are threads.
 * Return: the configuration, or NULL; the reason was printed on stderr.
 */
struct kf_web *kf_web_open(const char *path, unsigned int max_wrong);

/**
 * kf_web_close() - free a configuration
 * @w:		the configuration, or NULL
 *
 * Context: once, when no thread uses it.
 */
void kf_web_close(struct kf_web *w);

/**
 * kf_web_get() - get the current configuration
 * @w:		the configuration
 *
 * Reads the file again if it has changed.
 *
 * Return: the configuration, valid until kf_web_put(); NULL if the file has an
 * error.
 */
const struct kf_web_config *kf_web_get(struct kf_web *w);

/**
 * kf_web_put() - release the result of kf_web_get()
 * @w:		the configuration
 * @c:		the result, or NULL
 */
void kf_web_put(struct kf_web *w, const struct kf_web_config *c);

enum kf_web_result {
	KF_WEB_ACCEPTED,
	KF_WEB_REFUSED,
	KF_WEB_LIMITED, /* the address gave too many wrong passwords */
};

/**
 * kf_web_authenticate() - authenticate a user
 * @w:		the configuration
 * @c:		the result of kf_web_get()
 * @peer:	the client
 * @user:	the name that was given, or NULL
 * @password:	likewise
 *
 * Context: any thread; may take as long as bcrypt does.
 * Return: KF_WEB_ACCEPTED if the password is right, or no users are configured.
 */
enum kf_web_result kf_web_authenticate(struct kf_web *w,
				       const struct kf_web_config *c,
				       const struct kf_peer *peer,
				       const char *user, const char *password);

#endif
