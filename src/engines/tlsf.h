/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the engine tlsf gets its pools.
 */
#ifndef KF_ENGINES_TLSF_H
#define KF_ENGINES_TLSF_H

#include "base/compiler.h"

/* Set at start. */
struct kf_tlsf_conf {
	size_t initial;	   /* bytes of the first pool; 0: none */
	size_t additional; /* bytes of the next one; 0: there is none */
	bool prefault;	   /* all pages at once, and locked */
};

extern struct kf_tlsf_conf kf_tlsf_conf;

#endif
