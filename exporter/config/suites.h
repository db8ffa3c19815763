/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names of cipher suites and curves in the web configuration, which are
 * Go's, and GnuTLS' priority string for them.
 *
 * GnuTLS is told key exchanges, ciphers and MACs, and allows each combination
 * of them. A list that leaves out a combination of its own parts is refused,
 * since the suite left out would be allowed all the same.
 */
#ifndef KF_EXPORTER_CONFIG_SUITES_H
#define KF_EXPORTER_CONFIG_SUITES_H

#include "base/compiler.h"

#define KF_PRIORITIES_SIZE 512

struct kf_suites {
	uint32_t suites;	/* bits of the table; 0: GnuTLS' choice */
	unsigned char curve[8]; /* of the table, preferred first */
	unsigned int nr_curves; /* 0: GnuTLS' choice */
	bool clients_order;	/* the client's preference decides */
};

/**
 * kf_suites_add() - allow a cipher suite
 * @s:		the suites
 * @name:	its name, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
 *
 * Return: false if it is not known, or insecure.
 */
bool kf_suites_add(struct kf_suites *s, const char *name) __must_check;

/**
 * kf_suites_add_curve() - allow a curve
 * @s:		the suites
 * @name:	X25519, CurveP256, CurveP384 or CurveP521
 *
 * Return: false if it is not known, or was added before.
 */
bool kf_suites_add_curve(struct kf_suites *s, const char *name) __must_check;

/**
 * kf_suites_implied() - find a suite that GnuTLS would allow besides
 * @s:		the suites
 *
 * Return: its name; NULL if there is none.
 */
const char *kf_suites_implied(const struct kf_suites *s);

/**
 * kf_suites_have_13() - whether TLS 1.3 has a cipher
 * @s:		the suites
 *
 * Return: false if it has none: GnuTLS then refuses clients that offer it, even
 *	   if they offer an earlier version, too.
 */
bool kf_suites_have_13(const struct kf_suites *s);

/**
 * kf_suites_priorities() - make GnuTLS' priority string
 * @s:		the suites
 * @min:	least version of TLS, in tenths: 10 to 13
 * @max:	largest
 * @text:	out: the string
 */
void kf_suites_priorities(const struct kf_suites *s, unsigned int min,
			  unsigned int max, char text[KF_PRIORITIES_SIZE]);

#endif
