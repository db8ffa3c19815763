// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * For make coverage: gcov's counters in a file that all processes map.
 *
 * gcov writes its counters at exit, a file for each source, with stdio and
 * malloc. In a preloaded library that would be done in every program, would
 * be counted there, would take seconds a test, and would say nothing of
 * processes that are killed or call _exit, which many tests are about. So this
 * object, linked into each image of such a build, maps the counters from a file
 * before anything else of the image runs, one file for each build ID: what a
 * process has counted is there however it ends, and nothing is left to do at
 * exit. A process that may not open the file counts for itself.
 *
 * An image that is started with KF_COVERAGE_WRITE set has gcov write what the
 * file has, and ends.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern uint64_t kf_counters_begin[],
	kf_counters_end[] __attribute__((visibility("hidden")));
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* By --wrap: what each source calls when its image ends, and gcov's own. */
__attribute__((visibility("hidden"))) void __wrap___gcov_exit(void);
extern void __real___gcov_exit(void) __attribute__((weak));

void __wrap___gcov_exit(void)
{
}

static const ElfW(Nhdr) * build_id_in(const char *note, const char *end)
{
	while (note < end) {
		const ElfW(Nhdr) *head = (const void *)note;

		if (head->n_type == NT_GNU_BUILD_ID)
			return head;
		note += sizeof(*head) + ((head->n_namesz + 3) & ~3U) +
			((head->n_descsz + 3) & ~3U);
	}
	return NULL;
}

/* The note of this image that has its build ID, or NULL. */
static const ElfW(Nhdr) * find_build_id(void)
{
	const char *image = (const char *)&__ehdr_start;
	const ElfW(Phdr) *phdr = (const void *)(image + __ehdr_start.e_phoff);
	const ElfW(Nhdr) *found = NULL;

	for (int i = 0; i < __ehdr_start.e_phnum && !found; i++) {
		const char *note = image + phdr[i].p_vaddr;

		if (phdr[i].p_type == PT_NOTE)
			found = build_id_in(note, note + phdr[i].p_memsz);
	}
	return found;
}

static int open_counters(void)
{
	char path[4096] = KF_COUNTERS_DIR "/";
	const ElfW(Nhdr) *note = find_build_id();
	size_t end = strlen(path);
	const uint8_t *id;
	int fd;

	if (!note)
		return -1;
	id = (const uint8_t *)(note + 1) + ((note->n_namesz + 3) & ~3U);
	for (size_t i = 0; i < note->n_descsz && end < sizeof(path) - 2; i++) {
		path[end++] = "0123456789abcdef"[id[i] >> 4];
		path[end++] = "0123456789abcdef"[id[i] & 15];
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		fchmod(fd, 0666);
	return fd;
}

/* What ran before this, to relocate the image, has counted already. */
static void move_into_file(int fd, size_t len)
{
	uint64_t *file = MAP_FAILED;

	if (ftruncate(fd, (off_t)len) == 0)
		file = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0);
	if (file == MAP_FAILED)
		return;
	for (size_t i = 0; i < len / sizeof(*file); i++)
		if (kf_counters_begin[i])
			__atomic_fetch_add(&file[i], kf_counters_begin[i],
					   __ATOMIC_RELAXED);
	munmap(file, len);
	mmap(kf_counters_begin, len, PROT_READ | PROT_WRITE,
	     MAP_SHARED | MAP_FIXED, fd, 0);
}

__attribute__((constructor(101))) static void share_counters(void)
{
	size_t len =
		(size_t)((char *)kf_counters_end - (char *)kf_counters_begin);
	int saved_errno = errno, fd = len ? open_counters() : -1;

	if (fd >= 0) {
		move_into_file(fd, len);
		close(fd);
	}
	errno = saved_errno;
}

__attribute__((constructor)) static void write_counters(void)
{
	if (__real___gcov_exit && getenv("KF_COVERAGE_WRITE")) {
		__real___gcov_exit();
		_exit(0);
	}
}
