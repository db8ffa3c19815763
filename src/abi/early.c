/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * malloc in the IFUNC resolvers of the program.
 *
 * They run while ld.so still relocates, and only afterwards does ld.so fill
 * the threads' variables with their initial values: until then the thread's
 * front would be none, and its tags neither. ld.so calls this file's own
 * resolver at the end of our relocations, before the program's, and it sets the
 * variables by hand.
 * That costs the fast path nothing, as a test for it would.
 */
#include "abi/abi.h"

#include "heap/front.h"
#include "sys/thread.h"
#include "tags/tags.h"

static void nothing(void)
{
}

static __kf_unused void (*resolve(void))(void)
{
	kf_front_self = &kf_front_guest;
	kf_self = (struct kf_self)KF_SELF_NEW;
	kf_process_seen = KF_STATE_NONE;
	kf_tag_self = &kf_tag_nobody;
	return nothing;
}

static void early(void) __attribute__((ifunc("resolve")));

/* Its relocation is what makes ld.so call the resolver. */
void (*const volatile kf_abi_early)(void) __kf_hidden = early;
