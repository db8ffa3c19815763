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
#ifndef KF_CORE_HOSTED_H
#define KF_CORE_HOSTED_H

#include "engine/engine.h"
#include "engine/heap.h"
#include "engine/supply.h"

extern const struct kf_supply kf_supply_hosted;

/**
 * kf_hosted_stand() - have an engine serve from now on
 * @engine:	the engine; has all members that must be set
 *
 * Calls its init().
 *
 * Context: once, by one thread, after the default supply's init.
 * Return: NULL, or the engine's words why it cannot be used; nothing has
 *	   changed then.
 */
const char *kf_hosted_stand(const struct konf_engine *engine);

/**
 * kf_hosted_engine() - the engine that stands
 *
 * Context: any.
 * Return: the engine, or NULL: the default one serves.
 */
const struct konf_engine *kf_hosted_engine(void);

/**
 * kf_hosted_passes_on() - whether the engine system stands
 *
 * Context: any.
 * Return: true if so.
 */
bool kf_hosted_passes_on(void);

/**
 * kf_hosted_takes_zero() - whether the engine that stands takes size 0
 *
 * Context: any.
 * Return: true if so; the default one does not.
 */
bool kf_hosted_takes_zero(void);

/**
 * kf_hosted_finish() - the program ends: let the engine say what it knows
 *
 * Context: our destructor. Other threads may go on.
 */
void kf_hosted_finish(void);

/*
 * How an engine that needs no lock is asked at once, for the hosted mode: with
 * sizes below KF_SIZE_LIMIT. Constant once the engine stands.
 */
struct kf_hosted_way {
	struct kf_next_malloc to;
	bool elsewhere; /* its memory is not counted as held */
};

extern struct kf_hosted_way kf_hosted_way __kf_hidden;

/**
 * kf_hosted_is_direct() - whether the engine that stands may be asked at once
 *
 * Context: any thread, once an engine stands; kf_process_change() tells when
 *	    the answer changes.
 * Return: false where it is under a lock or leaves errno as it likes, where
 *	   blocks are filled, and once some have marks.
 */
bool kf_hosted_is_direct(void);

#endif
