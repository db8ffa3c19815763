/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host of all engines but the default one: what the engine contract
 * (include/konfiscator-engine.h) promises to engines is kept here, and what
 * they do is counted here.
 *
 * The default engine goes on serving beside the hosted one: what came before
 * it stood, what is asked from inside of it, and what it cannot be asked for
 * while a fork is on. Whose a block is, the address map tells: all that it does
 * not know is the hosted engine's.
 */
#ifndef KF_ENGINES_HOST_H
#define KF_ENGINES_HOST_H

#include "engines/engine.h"
#include "heap/heap.h"
#include "heap/backend.h"

extern const struct kf_backend kf_backend_host;

/**
 * kf_host_install() - have an engine serve from now on
 * @engine:	the engine; has all members that must be set
 *
 * Calls its init().
 *
 * Context: once, by one thread, after the default backend's init.
 * Return: NULL, or the engine's words why it cannot be used; nothing has
 *	   changed then.
 */
const char *kf_host_install(const struct konf_engine *engine);

/**
 * kf_host_engine() - the engine that stands
 *
 * Context: any.
 * Return: the engine, or NULL: the default one serves.
 */
const struct konf_engine *kf_host_engine(void);

/**
 * kf_host_takes_zero() - whether the engine that stands takes size 0
 *
 * Context: any.
 * Return: true if so; the default one does not.
 */
bool kf_host_takes_zero(void);

/**
 * kf_host_finish() - the program ends: let the engine say what it knows
 *
 * Context: our destructor. Other threads may go on.
 */
void kf_host_finish(void);

/*
 * How an engine that needs no lock is asked at once, for the hosted mode: with
 * sizes below KF_SIZE_LIMIT. Constant once the engine stands.
 */
struct kf_host_way {
	struct kf_next_malloc to;
	bool elsewhere; /* its memory is not counted as held */
};

extern struct kf_host_way kf_host_way __kf_hidden;

/**
 * kf_host_is_direct() - whether the engine that stands may be asked at once
 *
 * Context: any thread, once an engine stands; kf_process_change() tells when
 *	    the answer changes.
 * Return: false where it is under a lock or leaves errno as it likes, where
 *	   blocks are filled, and once some have marks.
 */
bool kf_host_is_direct(void);

#endif
