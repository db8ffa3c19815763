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

/**
 * kf_hosted_alloc() - a block of the engine that stands
 * @size:	bytes, any number
 * @align:	power of two, at least 16
 * @zeroed:	whether it must read as zeroes
 * @usable:	out: its usable bytes
 *
 * Context: any thread of a settled process.
 * Return: the block, counted, errno kept; or NULL: take the slow path.
 */
void *kf_hosted_alloc(size_t size, size_t align, bool zeroed,
		      size_t *usable) __must_check;

#endif
