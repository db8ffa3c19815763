/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cipher suites and curves: see suites.h.
 */
#include "config.h"

#include "exporter/config/suites.h"

#include <stdio.h>
#include <string.h>

struct suite {
	const char *name;
	const char *exchange, *cipher, *mac; /* in GnuTLS' words */
};

/* Go's suites of TLS 1.0 to 1.2, except for those with RC4 and 3DES. */
static const struct suite suites_known[] = {
	{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA",
	 "AES-128-GCM", "AEAD"},
	{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA",
	 "AES-256-GCM", "AEAD"},
	{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA",
	 "CHACHA20-POLY1305", "AEAD"},
	{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA", "AES-128-CBC",
	 "SHA1"},
	{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA", "AES-256-CBC",
	 "SHA1"},
	{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA",
	 "AES-128-CBC", "SHA256"},
	{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA", "AES-128-GCM",
	 "AEAD"},
	{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA", "AES-256-GCM",
	 "AEAD"},
	{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA",
	 "CHACHA20-POLY1305", "AEAD"},
	{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA", "AES-128-CBC",
	 "SHA1"},
	{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA", "AES-256-CBC",
	 "SHA1"},
	{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA", "AES-128-CBC",
	 "SHA256"},
	{"TLS_RSA_WITH_AES_128_GCM_SHA256", "RSA", "AES-128-GCM", "AEAD"},
	{"TLS_RSA_WITH_AES_256_GCM_SHA384", "RSA", "AES-256-GCM", "AEAD"},
	{"TLS_RSA_WITH_AES_128_CBC_SHA", "RSA", "AES-128-CBC", "SHA1"},
	{"TLS_RSA_WITH_AES_256_CBC_SHA", "RSA", "AES-256-CBC", "SHA1"},
	{"TLS_RSA_WITH_AES_128_CBC_SHA256", "RSA", "AES-128-CBC", "SHA256"},
};

#define NR_SUITES KF_ARRAY_SIZE(suites_known)

static const struct {
	const char *name, *group;
} suites_curves[] = {
	{"X25519", "X25519"},
	{"CurveP256", "SECP256R1"},
	{"CurveP384", "SECP384R1"},
	{"CurveP521", "SECP521R1"},
};

bool kf_suites_add(struct kf_suites *s, const char *name)
{
	for (unsigned int i = 0; i < NR_SUITES; i++) {
		if (strcmp(suites_known[i].name, name) == 0) {
			s->suites |= 1u << i;
			return true;
		}
	}
	return false;
}

bool kf_suites_add_curve(struct kf_suites *s, const char *name)
{
	unsigned int i, k;

	for (i = 0; i < KF_ARRAY_SIZE(suites_curves); i++) {
		if (strcmp(suites_curves[i].name, name) == 0)
			break;
	}
	for (k = 0; k < s->nr_curves; k++) {
		if (s->curve[k] == i)
			return false;
	}
	if (i == KF_ARRAY_SIZE(suites_curves))
		return false;
	s->curve[s->nr_curves++] = (unsigned char)i;
	return true;
}

/* A part of a suite: 0 the exchange, 1 the cipher, 2 the MAC. */
static const char *suites_part(const struct suite *s, unsigned int part)
{
	return part == 0 ? s->exchange : part == 1 ? s->cipher : s->mac;
}

static bool suites_have(const struct kf_suites *s, unsigned int before,
			const char *text, unsigned int part)
{
	for (unsigned int i = 0; i < before; i++) {
		if (s->suites >> i & 1 &&
		    strcmp(suites_part(&suites_known[i], part), text) == 0)
			return true;
	}
	return false;
}

const char *kf_suites_implied(const struct kf_suites *s)
{
	for (unsigned int i = 0; i < NR_SUITES; i++) {
		const struct suite *k = &suites_known[i];

		if (!(s->suites >> i & 1) &&
		    suites_have(s, NR_SUITES, k->exchange, 0) &&
		    suites_have(s, NR_SUITES, k->cipher, 1) &&
		    suites_have(s, NR_SUITES, k->mac, 2))
			return k->name;
	}
	return NULL;
}

bool kf_suites_have_13(const struct kf_suites *s)
{
	return !s->suites || suites_have(s, NR_SUITES, "AEAD", 2);
}

static void suites_append(char *text, const char *what, const char *name)
{
	size_t len = strlen(text);

	snprintf(text + len, KF_PRIORITIES_SIZE - len, ":%s%s", what, name);
}

void kf_suites_priorities(const struct kf_suites *s, unsigned int min,
			  unsigned int max, char text[KF_PRIORITIES_SIZE])
{
	static const char *const without[] = {"-KX-ALL", "-CIPHER-ALL",
					      "-MAC-ALL"};
	char version[16];

	snprintf(text, KF_PRIORITIES_SIZE, "NORMAL:-VERS-ALL");
	for (unsigned int v = min; v <= max; v++) {
		snprintf(version, sizeof(version), "TLS1.%u", v - 10);
		suites_append(text, "+VERS-", version);
	}
	for (unsigned int part = 0; s->suites && part < 3; part++) {
		suites_append(text, "", without[part]);
		for (unsigned int i = 0; i < NR_SUITES; i++) {
			const char *name = suites_part(&suites_known[i], part);

			if (s->suites >> i & 1 &&
			    !suites_have(s, i, name, part))
				suites_append(text, "+", name);
		}
	}
	if (s->nr_curves)
		suites_append(text, "", "-GROUP-ALL");
	for (unsigned int i = 0; i < s->nr_curves; i++)
		suites_append(text, "+GROUP-",
			      suites_curves[s->curve[i]].group);
	if (!s->clients_order)
		suites_append(text, "", "%SERVER_PRECEDENCE");
}
