/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The allocators of the machine. The loader is asked, as only it knows where it
 * finds a library: the replayer is started with each, and tells which object
 * its malloc is in.
 */
#include "config.h"

#include "cli/library.h"
#include "cli/whatif/whatif.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
	const char *name;
	const char *file;
} allocators[] = {
#define KF_ALLOCATOR(name, file) {name, file},
#include "cli/whatif/allocators.def"
#undef KF_ALLOCATOR
};

const char *kf_allocator_name(size_t i)
{
	for (size_t k = 0; k < KF_ARRAY_SIZE(allocators); k++) {
		if (k && !strcmp(allocators[k].name, allocators[k - 1].name))
			continue;
		if (!i--)
			return allocators[k].name;
	}
	return NULL;
}

/* A script without operations. */
static int empty_script(void)
{
	struct kf_script_header h = {.magic = KF_SCRIPT_MAGIC,
				     .nr_threads = 1,
				     .ops = sizeof(h),
				     .samples = sizeof(h)};
	int fd = memfd_create("konfiscator-script", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, &h, sizeof(h)) == sizeof(h))
		return fd;
	close(fd);
	return -1;
}

/* The object that malloc is in with a preload; "": it could not be started. */
static void malloc_with(const char *preload, char from[4096])
{
	struct kf_script *empty = kf_alloc(1, sizeof(*empty));
	struct kf_played *played = kf_alloc(1, sizeof(*played));
	struct kf_player player = {.script = empty, .quiet = true};
	char *variable = kf_format("LD_PRELOAD%s%s", preload ? "=" : "",
				   preload ? preload : "");
	char *env[] = {variable, NULL};

	from[0] = '\0';
	empty->fd = empty_script();
	if (empty->fd >= 0 && !kf_player_run(&player, env, "", played))
		memcpy(from, played->begin.malloc_from, 4096);
	kf_script_close(empty);
	free(variable);
	free(played);
	free(empty);
}

static bool serves_malloc(const char *preload)
{
	static char libc[4096];
	char from[4096];

	if (!libc[0])
		malloc_with(NULL, libc);
	malloc_with(preload, from);
	return from[0] && strcmp(from, libc) != 0;
}

char *kf_allocator_find(const char *name)
{
	char *path = strchr(name, '/') ? realpath(name, NULL) : NULL;
	char *safe = path ? kf_library_safe(path) : NULL;

	free(path);
	if (safe && serves_malloc(safe))
		return safe;
	free(safe);
	for (size_t i = 0; i < KF_ARRAY_SIZE(allocators); i++) {
		if (!strcmp(allocators[i].name, name) &&
		    serves_malloc(allocators[i].file))
			return kf_format("%s", allocators[i].file);
	}
	return NULL;
}
