/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the program replaces operators new or delete. The addresses come
 * from the GOT, so they are what the program sees; a definition elsewhere has
 * another object's address.
 */
#include "abi/new.h"

extern const char __ehdr_start[] __kf_hidden;
extern const char _end[] __kf_hidden;

static bool ours(const void *fn)
{
	return (const char *)fn >= __ehdr_start && (const char *)fn < _end;
}

signed char kf_new_answer;

bool kf_new_look(void)
{
	bool all = ours(_Znwm) && ours(_Znam) && ours(_ZdlPv) && ours(_ZdaPv) &&
		   ours(_ZnwmSt11align_val_t) && ours(_ZnamSt11align_val_t) &&
		   ours(_ZdlPvSt11align_val_t) && ours(_ZdaPvSt11align_val_t) &&
		   ours(_ZnamRKSt9nothrow_t) && ours(_ZnwmRKSt9nothrow_t);

	__atomic_store_n(&kf_new_answer, all ? 1 : -1, __ATOMIC_RELAXED);
	return all;
}
