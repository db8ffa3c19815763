/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public interface of konfiscator, for C and C++.
 *
 * A program may include this header and be run without the library: nothing
 * here needs it at build time or at run time. This version has only what tells
 * which interface the header speaks of; tags and control come with later ones.
 *
 *	#if KONF_VERSION_NUMBER >= KONF_VERSION_OF(0, 1, 0)
 */
#ifndef KONFISCATOR_H
#define KONFISCATOR_H

#define KONF_VERSION_MAJOR 0
#define KONF_VERSION_MINOR 1
#define KONF_VERSION_PATCH 0

/* A version as one number that can be compared; each part is below 1000. */
#define KONF_VERSION_OF(major, minor, patch) \
	((major)*1000000 + (minor)*1000 + (patch))

#define KONF_VERSION_NUMBER                                     \
	KONF_VERSION_OF(KONF_VERSION_MAJOR, KONF_VERSION_MINOR, \
			KONF_VERSION_PATCH)

#endif
