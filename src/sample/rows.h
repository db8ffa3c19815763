/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the registers of a function's caller are found, by the unwind tables of
 * the function's object.
 *
 * The tables are read by libgcc's unwinder, which is linked in and hidden, so
 * nothing is loaded for it. It finds an object's tables by _dl_find_object() of
 * glibc 2.35, which takes no lock; without that function there are no rows.
 * What was read is kept by address.
 */
#ifndef KF_SAMPLE_ROWS_H
#define KF_SAMPLE_ROWS_H

#include "base/compiler.h"

/*
 * Registers that a function leaves as they were, which a row may be based on:
 * on x86-64 rbx, rbp, r12 to r15; on aarch64 x19 to x30.
 */
#ifdef __x86_64__
#define KF_NR_KEPT 6
#define KF_KEPT_FRAME 1 /* the frame pointer's place among them */
#else
#define KF_NR_KEPT 12
#define KF_KEPT_FRAME 10
#endif

enum kf_row_kind {
	KF_ROW_NONE,	/* no table has the address */
	KF_ROW_TABLE,	/* the members below are set */
	KF_ROW_OUTMOST, /* the function has no caller */
	KF_ROW_ALIGNS,	/* the function aligns its stack, or its row is of a
			   kind that is not read */
};

/* Offsets are in words, from the CFA: the stack pointer before the call. */
struct kf_row {
	int32_t cfa;  /* bytes from register @base to the CFA */
	uint8_t kind; /* enum kf_row_kind */
	uint8_t base; /* of the registers kept; KF_NR_KEPT: the stack pointer */
	int16_t ra;   /* where the return address is */
	int16_t at[KF_NR_KEPT]; /* where a register is; KF_ROW_SAME, _LOST */
};

#define KF_ROW_SAME 0 /* as in the function itself */
#define KF_ROW_LOST 1

/**
 * kf_rows_start() - look for _dl_find_object()
 *
 * Context: once, at start, not inside malloc.
 */
void kf_rows_start(void);

/**
 * kf_rows_is_loaded() - whether the dynamic loader is done with an object
 * @pc:	an address in it
 *
 * Before, its code must not be called.
 *
 * Context: as kf_rows_find().
 * Return: whether it is known to be.
 */
bool kf_rows_is_loaded(uintptr_t pc);

/**
 * kf_rows_lack() - why there are no rows
 *
 * Context: any.
 * Return: the reason, in a few words; NULL where there are rows.
 */
const char *kf_rows_lack(void);

/**
 * kf_rows_find() - the row of an address
 * @pc:		the return address of a call, at any value
 * @row:	out: the row
 *
 * Context: any thread, signal handlers too. Allocates nothing, takes no lock,
 *	    reads only tables of loaded objects.
 */
void kf_rows_find(uintptr_t pc, struct kf_row *row);

/**
 * kf_rows_loading() - this thread is about to load an object
 *
 * The object may come to the addresses of an unloaded one, so all rows are
 * forgotten: now, and again by this thread's next kf_rows_begin(), as other
 * threads may run code of the old object until the load begins.
 *
 * Context: any thread.
 */
void kf_rows_loading(void);

/**
 * kf_rows_begin() - begin to look for the rows of a stack
 *
 * Context: as kf_rows_find().
 */
void kf_rows_begin(void);

#endif
