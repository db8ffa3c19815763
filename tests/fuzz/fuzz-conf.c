/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options of any text: each comes out as its kind allows, and what is said of
 * a bad one is one line of what can be printed.
 */
#include "config.h"

#include "base/text.h"
#include "core/conf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define NR 8

static const char *const names[] = {
#define KF_CONF(id, kind, def, arg, help) #id,
#include "core/conf.def"
#undef KF_CONF
};

static const struct kf_conf defaults = {
#define KF_CONF(id, kind, def, arg, help) .id = (KF_CONF_C_##kind)def,
#include "core/conf.def"
#undef KF_CONF
};

/* What may come of each kind. */
#define IS_BOOL(v) ((uint64_t)(v) <= 1)
#define IS_SIZE(v) ((uint64_t)(v) <= PTRDIFF_MAX)
#define IS_COUNT(v) ((uint64_t)(v) <= UINT32_MAX)
#define IS_ACTION(v) ((uint64_t)(v) <= 1)
#define IS_STRING(v) (!(uintptr_t)(v) || *(const char *)(uintptr_t)(v))
#define IS_ENGINE(v) IS_STRING(v)
#define IS_LIMIT(value)            \
	((value) <= PTRDIFF_MAX || \
	 ((value) > KF_LIMIT_SHARE && (value) <= (KF_LIMIT_SHARE | 100)))
#define IS_MATCH(v) IS_STRING(v)

static void check_values(void)
{
#define KF_CONF(id, kind, def, arg, help) \
	fuzz_require(IS_##kind(kf_conf.id), #id " is not what it may be");
#include "core/conf.def"
#undef KF_CONF
}

/* "KONFISCATOR_" and the name of the option, in capitals. */
static void name_of(char *dst, size_t size, const char *id)
{
	snprintf(dst, size, "KONFISCATOR_%s=", id);
	for (char *c = dst; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
}

static void check_said(int fd)
{
	static char said[NR * 512];
	ssize_t n = pread(fd, said, sizeof(said), 0);
	unsigned int lines = 0;

	for (ssize_t i = 0; i < n; i++) {
		lines += said[i] == '\n';
		fuzz_require(said[i] == '\n' ||
				     (said[i] >= ' ' && said[i] <= '~'),
			     "what is said cannot be printed");
	}
	fuzz_require(n <= 0 || said[n - 1] == '\n', "a line has no end");
	fuzz_require(lines <= NR, "more than one line of one option");
}

/* What it says goes to descriptor 2: there is a file meanwhile. */
static void read_watched(void)
{
	int saved = dup(2);
	int fd;

	fd = openat(AT_FDCWD, fuzz_file(NULL, 0), O_RDWR | O_CLOEXEC);
	dup2(fd, 2);
	kf_conf_read();
	dup2(saved, 2);
	close(saved);
	check_said(fd);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	extern char **environ;
	static char entry[NR][512];
	char *env[NR + 1] = {NULL};
	char **saved = environ;
	struct fuzz_in in = {data, size};

	for (int i = 0; i < NR && in.left; i++) {
		char *value;

		name_of(entry[i], sizeof(entry[i]),
			names[fuzz_number(&in, 1) % KF_ARRAY_SIZE(names)]);
		value = strchr(entry[i], '=') + 1;
		fuzz_text(&in, value,
			  sizeof(entry[i]) - (size_t)(value - entry[i]));
		env[i] = entry[i];
	}
	kf_conf = defaults;
	environ = env;
	read_watched();
	environ = saved;
	check_values();
	kf_conf = defaults;
	return 0;
}
