/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator_attach() and konfiscator_detach(), which a debugger calls in a
 * process that was started without this library (scripts/gdb/attach.py).
 *
 * Allocating calls, and those that this library watches, are led here from the
 * object whose malloc the program uses: the C library, or another one that
 * defines malloc. A name that is another object's stays with it.
 */
#include "abi/abi.h"

#include "core/attach.h"
#include "sys/bind.h"
#include "sys/next.h"

#include <errno.h>
#include <string.h>

__kf_public const char *konfiscator_attach(unsigned long mean);
__kf_public const char *konfiscator_detach(void);

#define WATCHED_FROM "dlopen"

/* The names of malloc's family, then those that are only watched. */
static struct kf_bind binds[] = {
	{.name = "malloc"},
	{.name = "free"},
	{.name = "calloc"},
	{.name = "realloc"},
	{.name = "reallocarray"},
	{.name = "posix_memalign"},
	{.name = "memalign"},
	{.name = "aligned_alloc"},
	{.name = "valloc"},
	{.name = "pvalloc"},
	{.name = "malloc_usable_size"},
	{.name = "free_sized"},
	{.name = "free_aligned_sized"},
	{.name = "cfree"},
	{.name = "dlopen"},
	{.name = "dlclose"},
	{.name = "prctl"},
	{.name = "syscall"},
	{.name = "mmap"},
	{.name = "mmap64"},
	{.name = "munmap"},
	{.name = "mremap"},
};

static bool found; /* binds[] is complete */
static bool busy;  /* atomic */

/* Whether a process uses a malloc that this library can stand before. */
static const char *find_all(void)
{
	bool watched = false;
	const void *malloc_is;

	if (found)
		return NULL;
	if (!kf_next_before("gnu_get_libc_version"))
		return "the library was loaded at the start";
	kf_bind_find(binds, KF_ARRAY_SIZE(binds));
	malloc_is = (const void *)binds[0].theirs;
	if (!malloc_is)
		return "the process has no malloc";
	if (!*kf_next_path(malloc_is))
		return "its malloc is in the program itself, whose calls cannot be redirected";
	for (size_t i = 0; i < KF_ARRAY_SIZE(binds); i++) {
		watched |= !strcmp(binds[i].name, WATCHED_FROM);
		binds[i].ours = (uintptr_t)kf_next_own(binds[i].name);
		if (!watched && !kf_next_of(binds[i].name, malloc_is))
			binds[i].theirs = 0;
	}
	found = true;
	return NULL;
}

static const char *attach(uint64_t mean)
{
	const char *why;

	if (kf_attach_is_on())
		return "it is already attached";
	why = find_all();
	if (!why)
		why = kf_attach_begin(mean);
	if (!why)
		kf_bind(binds, KF_ARRAY_SIZE(binds), true);
	return why;
}

static const char *detach(void)
{
	if (!kf_attach_is_on())
		return "it is not attached";
	kf_bind(binds, KF_ARRAY_SIZE(binds), false);
	kf_attach_end();
	return NULL;
}

static const char in_use[] = "another attach or detach is in progress";

/*
 * konfiscator_attach() - begin to observe the process
 * konfiscator_detach() - end it
 * @mean: take samples at this mean distance in bytes; 0: as the environment
 *	  says
 *
 * Context: a thread that holds no lock of malloc or of the dynamic linker.
 * Return: NULL, or in words why not; nothing has changed then.
 */
const char *konfiscator_attach(unsigned long mean)
{
	int saved = errno;
	const char *why;

	if (!kf_claim(&busy, true))
		return in_use;
	why = attach(mean);
	kf_store_release(&busy, false);
	errno = saved;
	return why;
}

const char *konfiscator_detach(void)
{
	int saved = errno;
	const char *why;

	if (!kf_claim(&busy, true))
		return in_use;
	why = detach();
	kf_store_release(&busy, false);
	errno = saved;
	return why;
}
