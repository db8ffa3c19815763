// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What busy.c asks of hook.c, by UCX: its memory hooks, which keep the list of
 * what network cards may read.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <ucm/api/ucm.h>

unsigned long hook_calls[4];
pthread_mutex_t hook_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
const char *hook_watched;
unsigned long hook_heard;

static void hear(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
	uintptr_t from = (uintptr_t)event->vm_unmapped.address;

	(void)type;
	(void)arg;
	__atomic_add_fetch(&hook_calls[1], 1, __ATOMIC_RELAXED);
	if ((uintptr_t)hook_watched - from < event->vm_unmapped.size)
		__atomic_add_fetch(&hook_heard, 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void begin(void)
{
	ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, hear, NULL);
}
