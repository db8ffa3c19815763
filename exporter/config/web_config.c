/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The keys of the web configuration, each with a function.
 */
#include "config.h"

#include "exporter/config/web_config.h"
#include "exporter/config/yaml.h"

#include "base/text.h"

#include <crypt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BCRYPT_LENGTH 60

const char *const kf_web_header_names[KF_NR_WEB_HEADERS] = {
	"Content-Security-Policy", "Strict-Transport-Security",
	"X-Content-Type-Options",  "X-Frame-Options",
	"X-XSS-Protection",
};

static const char *const client_auths[KF_NR_CLIENT_AUTHS] = {
	[KF_CLIENT_NONE] = "NoClientCert",
	[KF_CLIENT_REQUEST] = "RequestClientCert",
	[KF_CLIENT_REQUIRE_ANY] = "RequireAnyClientCert",
	[KF_CLIENT_VERIFY_IF_GIVEN] = "VerifyClientCertIfGiven",
	[KF_CLIENT_REQUIRE_AND_VERIFY] = "RequireAndVerifyClientCert",
};

static bool web_take_copy(struct kf_yaml *y, yaml_node_t *n, char **out)
{
	const char *text = kf_yaml_text(y, n);

	if (!text)
		return false;
	*out = strdup(text);
	return *out ? true : kf_yaml_fail(y, n, "out of memory");
}

/* A path is relative to the file that names it. */
static bool web_take_path(struct kf_yaml *y, yaml_node_t *n, char **out)
{
	const char *text = kf_yaml_text(y, n);
	const char *slash = strrchr(y->path, '/');
	char path[PATH_MAX];

	if (!text || !*text || *text == '/' || !slash)
		return web_take_copy(y, n, out);
	if (snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - y->path),
		     y->path, text) >= (int)sizeof(path))
		return kf_yaml_fail(y, n, "path is too long: %s", text);
	*out = strdup(path);
	return *out ? true : kf_yaml_fail(y, n, "out of memory");
}

static bool web_take_cert_file(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return web_take_path(y, n, &((struct kf_web_config *)out)->cert.file);
}

static bool web_take_cert(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return web_take_copy(y, n, &((struct kf_web_config *)out)->cert.text);
}

static bool web_take_key_file(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return web_take_path(y, n, &((struct kf_web_config *)out)->key.file);
}

static bool web_take_key(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return web_take_copy(y, n, &((struct kf_web_config *)out)->key.text);
}

static bool web_take_client_ca_file(struct kf_yaml *y, yaml_node_t *n,
				    void *out)
{
	return web_take_path(y, n,
			     &((struct kf_web_config *)out)->client_ca.file);
}

static bool web_take_client_ca(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return web_take_copy(y, n,
			     &((struct kf_web_config *)out)->client_ca.text);
}

static bool web_take_client_auth(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct kf_web_config *c = out;
	const char *text = kf_yaml_text(y, n);
	int i;

	if (!text)
		return false;
	for (i = 0; i < KF_NR_CLIENT_AUTHS; i++) {
		if (*text && strcmp(text, client_auths[i]) != 0)
			continue;
		c->client_auth = (enum kf_client_auth)i;
		return true;
	}
	return kf_yaml_fail(
		y, n,
		"invalid client auth type: %s (allowed: NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert)",
		text);
}

static bool web_take_version(struct kf_yaml *y, yaml_node_t *n,
			     unsigned int *out)
{
	static const char *const names[] = {"TLS10", "TLS11", "TLS12", "TLS13"};
	const char *text = kf_yaml_text(y, n);
	unsigned int i;

	for (i = 0; text && i < KF_ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = 10 + i;
			return true;
		}
	}
	return text ? kf_yaml_fail(
			      y, n,
			      "unknown TLS version: %s (allowed: TLS10, TLS11, TLS12, TLS13)",
			      text)
		    : false;
}

static bool web_take_min(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return web_take_version(y, n,
				&((struct kf_web_config *)out)->min_version);
}

static bool web_take_max(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return web_take_version(y, n,
				&((struct kf_web_config *)out)->max_version);
}

static bool web_take_suite(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct kf_web_config *c = out;
	const char *text = kf_yaml_text(y, n);

	return text &&
	       (kf_suites_add(&c->suites, text) ||
		kf_yaml_fail(y, n, "unknown or insecure cipher suite: %s",
			     text));
}

static bool web_take_suites(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct kf_web_config *c = out;
	const char *implied;

	if (!kf_yaml_list(y, n, web_take_suite, out))
		return false;
	implied = kf_suites_implied(&c->suites);
	return !implied ||
	       kf_yaml_fail(
		       y, n,
		       "these suites cannot be allowed without %s: add it, or leave out one of them",
		       implied);
}

static bool web_take_curve(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct kf_web_config *c = out;
	const char *text = kf_yaml_text(y, n);

	return text &&
	       (kf_suites_add_curve(&c->suites, text) ||
		kf_yaml_fail(
			y, n,
			"curve is not known or there twice: %s (allowed: X25519, CurveP256, CurveP384, CurveP521)",
			text));
}

static bool web_take_curves(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, web_take_curve, out);
}

static bool web_take_preference(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct kf_web_config *c = out;
	bool servers;

	if (!kf_yaml_bool(y, n, &servers))
		return false;
	c->suites.clients_order = !servers;
	return true;
}

static bool web_take_san(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct kf_web_config *c = out;

	if (c->nr_sans == KF_MAX_SANS)
		return kf_yaml_fail(y, n, "more than %d names", KF_MAX_SANS);
	return web_take_copy(y, n, &c->san[c->nr_sans]) && ++c->nr_sans;
}

static bool web_take_sans(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, web_take_san, out);
}

static bool web_take_ignored_bool(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	bool value;

	return kf_yaml_bool(y, n, &value);
}

/* What is there is not said: it may be a key. */
static bool web_check_pem(struct kf_yaml *y, yaml_node_t *n,
			  const struct kf_web_pem *p, const char *key,
			  bool needed)
{
	if (p->file && p->text)
		return kf_yaml_fail(y, n,
				    "only one of %s and %s_file is allowed",
				    key, key);
	if (needed && !(p->file && *p->file) && !(p->text && *p->text))
		return kf_yaml_fail(y, n, "missing %s_file", key);
	return true;
}

static bool web_take_tls(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	static const struct kf_yaml_key keys[] = {
		{"cert_file", web_take_cert_file},
		{"cert", web_take_cert},
		{"key_file", web_take_key_file},
		{"key", web_take_key},
		{"client_ca_file", web_take_client_ca_file},
		{"client_ca", web_take_client_ca},
		{"client_auth_type", web_take_client_auth},
		{"min_version", web_take_min},
		{"max_version", web_take_max},
		{"prefer_server_cipher_suites", web_take_preference},
		{"cipher_suites", web_take_suites},
		{"curve_preferences", web_take_curves},
		{"client_allowed_sans", web_take_sans},
	};
	struct kf_web_config *c = out;

	if (n->type != YAML_MAPPING_NODE)
		return kf_yaml_fail(y, n, "missing cert_file");
	c->tls = true;
	if (!kf_yaml_mapping(y, n, keys, KF_ARRAY_SIZE(keys), out))
		return false;
	if (!web_check_pem(y, n, &c->cert, "cert", true) ||
	    !web_check_pem(y, n, &c->key, "key", true) ||
	    !web_check_pem(y, n, &c->client_ca, "client_ca", false))
		return false;
	if (c->min_version > c->max_version)
		return kf_yaml_fail(y, n, "min_version is above max_version");
	if (c->max_version == 13 && !kf_suites_have_13(&c->suites))
		return kf_yaml_fail(
			y, n,
			"cipher_suites has no suite with GCM or CHACHA20_POLY1305, as TLS 1.3 needs: add one, or set max_version: TLS12");
	if (kf_web_pem_is_set(&c->client_ca) &&
	    c->client_auth == KF_CLIENT_NONE)
		return kf_yaml_fail(
			y, n,
			"client CA's have been configured without a client auth policy");
	if (!kf_web_pem_is_set(&c->client_ca) &&
	    c->client_auth >= KF_CLIENT_VERIFY_IF_GIVEN)
		return kf_yaml_fail(y, n, "%s needs client_ca_file",
				    client_auths[c->client_auth]);
	if (c->nr_sans && c->client_auth != KF_CLIENT_REQUIRE_ANY &&
	    c->client_auth != KF_CLIENT_REQUIRE_AND_VERIFY)
		return kf_yaml_fail(
			y, n,
			"client_allowed_sans needs client_auth_type RequireAnyClientCert or RequireAndVerifyClientCert");
	return true;
}

static bool web_take_header(struct kf_yaml *y, yaml_node_t *at, const char *key,
			    const char *value, void *out)
{
	struct kf_web_config *c = out;
	unsigned int i;

	for (i = 0; i < KF_NR_WEB_HEADERS; i++) {
		if (strcmp(key, kf_web_header_names[i]) != 0)
			continue;
		if (c->header[i])
			return kf_yaml_fail(y, at, "duplicate key \"%s\"", key);
		if (strpbrk(value, "\r\n"))
			return kf_yaml_fail(y, at, "%s: more than one line",
					    key);
		c->header[i] = strdup(value);
		return c->header[i] ? true
				    : kf_yaml_fail(y, at, "out of memory");
	}
	return kf_yaml_fail(y, at, "HTTP header \"%s\" can not be configured",
			    key);
}

static bool web_take_headers(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_pairs(y, n, web_take_header, out);
}

static bool web_take_http(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	/* http2 is not supported, as if off */
	static const struct kf_yaml_key keys[] = {
		{"http2", web_take_ignored_bool},
		{"headers", web_take_headers},
	};

	return kf_yaml_mapping(y, n, keys, KF_ARRAY_SIZE(keys), out);
}

static bool web_take_user(struct kf_yaml *y, yaml_node_t *at, const char *key,
			  const char *value, void *out)
{
	struct kf_web_config *c = out;
	struct kf_web_user *u = &c->user[c->nr_users];
	unsigned int i;

	if (c->nr_users == KF_MAX_USERS)
		return kf_yaml_fail(y, at, "more than %d users", KF_MAX_USERS);
	if (!*key || strchr(key, ':'))
		return kf_yaml_fail(
			y, at,
			"a user name must not be empty or contain a colon");
	for (i = 0; i < c->nr_users; i++) {
		if (strcmp(c->user[i].name, key) == 0)
			return kf_yaml_fail(y, at, "duplicate user %s", key);
	}
	/* the value is a secret: do not print it */
	if (strncmp(value, "$2", 2) != 0 || strlen(value) != BCRYPT_LENGTH ||
	    crypt_checksalt(value) != CRYPT_SALT_OK)
		return kf_yaml_fail(
			y, at, "user %s: the password is not a bcrypt hash",
			key);
	u->name = strdup(key);
	u->hash = strdup(value);
	c->nr_users++;
	return u->name && u->hash ? true : kf_yaml_fail(y, at, "out of memory");
}

static bool web_take_users(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_pairs(y, n, web_take_user, out);
}

static bool web_take_interval(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
		     {"s", 1},	   {"m", 60},	 {"h", 3600}};
	struct kf_web_config *c = out;
	const char *text = kf_yaml_text(y, n);
	double value = 0;
	char *end = NULL;

	if (!text)
		return false;
	c->interval_s = 0;
	if (strcmp(text, "0") == 0)
		return true;
	if (strspn(text, "0123456789."))
		value = strtod(text, &end);
	for (unsigned int i = 0; end && i < KF_ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].name) == 0)
			c->interval_s = value * units[i].seconds;
	}
	return (c->interval_s > 0 && c->interval_s <= 86400) ||
	       kf_yaml_fail(
		       y, n,
		       "invalid interval: %s (allowed: a time such as 500ms or 1s, up to 24h)",
		       text);
}

static bool web_take_burst(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct kf_web_config *c = out;
	const char *text = kf_yaml_text(y, n);
	uint64_t burst;

	if (!text)
		return false;
	if (!kf_parse_u64(text, &burst) || burst > 1000000)
		return kf_yaml_fail(y, n,
				    "invalid burst: %s (allowed: 0 to 1000000)",
				    text);
	c->burst = (unsigned int)burst;
	return true;
}

static bool web_take_rate(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	static const struct kf_yaml_key keys[] = {
		{"interval", web_take_interval},
		{"burst", web_take_burst},
	};
	struct kf_web_config *c = out;

	if (!kf_yaml_mapping(y, n, keys, KF_ARRAY_SIZE(keys), out))
		return false;
	return c->interval_s == 0 || c->burst ||
	       kf_yaml_fail(
		       y, n,
		       "rate_limit needs a burst of at least 1: all requests would be refused");
}

bool kf_web_config_read(struct kf_web_config *c, const char *path, char *error,
			size_t size)
{
	static const struct kf_yaml_key keys[] = {
		{"tls_server_config", web_take_tls},
		{"http_server_config", web_take_http},
		{"basic_auth_users", web_take_users},
		{"rate_limit", web_take_rate},
	};
	struct kf_yaml y;
	yaml_node_t *root = kf_yaml_load(&y, path);
	bool right = !y.error[0];

	memset(c, 0, sizeof(*c));
	c->min_version = 12;
	c->max_version = 13;
	if (root)
		right = kf_yaml_mapping(&y, root, keys, KF_ARRAY_SIZE(keys), c);
	snprintf(error, size, "%s", y.error);
	kf_yaml_release(&y);
	return right;
}

static void web_release_pem(struct kf_web_pem *p)
{
	free(p->file);
	if (p->text)
		explicit_bzero(p->text, strlen(p->text));
	free(p->text);
}

void kf_web_config_release(struct kf_web_config *c)
{
	unsigned int i;

	web_release_pem(&c->cert);
	web_release_pem(&c->key);
	web_release_pem(&c->client_ca);
	for (i = 0; i < KF_NR_WEB_HEADERS; i++)
		free(c->header[i]);
	for (i = 0; i < c->nr_sans; i++)
		free(c->san[i]);
	for (i = 0; i < c->nr_users; i++) {
		free(c->user[i].name);
		free(c->user[i].hash);
	}
	memset(c, 0, sizeof(*c));
}
