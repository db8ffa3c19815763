/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the addresses of a profile are called: function, file and line, those
 * of inlined calls too.
 *
 * A module is taken from its path where its build id is the one recorded, else
 * it is looked for by the build id: where the system keeps debug information,
 * and on the servers of DEBUGINFOD_URLS. So a profile can be read on another
 * machine, and a program that was replaced gives no wrong names.
 */
#ifndef KF_CLI_PROFILE_SYMBOLS_H
#define KF_CLI_PROFILE_SYMBOLS_H

#include "reader/profile.h"

/* One call at an address. Strings live as long as the symbols. */
struct kf_frame {
	uint64_t address;     /* the return address */
	const char *function; /* demangled; LIBRARY+0xN where it has no name */
	const char *file;     /* of the source; NULL: not known */
	unsigned int line;    /* 0: not known */
	const char *library;  /* the last part of the module's path, or "?" */
	ptrdiff_t module;     /* its index in the profile, or -1 */
	bool inlined;	      /* into the next of the address' frames */
	bool named;	      /* @function is a name */
};

struct kf_symbols;

/**
 * kf_symbols_open() - begin to look up the addresses of a profile
 * @p:		the profile; it outlives the symbols
 *
 * Context: one thread; the command has no other.
 * Return: the symbols.
 */
struct kf_symbols *kf_symbols_open(const struct kf_profile *p);

/**
 * kf_symbols_frames() - the calls at a return address
 * @s:		the symbols
 * @address:	the address
 * @nr:		out: how many, at least 1
 *
 * Context: one thread; the command has no other.
 * Return: the calls, the inmost first; they live as long as the symbols.
 */
const struct kf_frame *kf_symbols_frames(struct kf_symbols *s, uint64_t address,
					 size_t *nr);

/**
 * kf_symbols_close() - let symbols go
 * @s:		the symbols, or NULL
 *
 * Context: one thread; the command has no other.
 */
void kf_symbols_close(struct kf_symbols *s);

#endif
