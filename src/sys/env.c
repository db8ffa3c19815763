/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment: see env.h. ld.so calls malloc before libc.so sets environ;
 * until then the environment is read from /proc.
 */
#include "sys/env.h"

#include "sys/file.h"

#include <string.h>
#include <sys/auxv.h>

#define EARLY_BYTES 32768

static char early[EARLY_BYTES];
static size_t early_len;

bool kf_env_is_trusted(void)
{
	return getauxval(AT_SECURE) == 0;
}

static void read_early(void)
{
	ssize_t n = kf_file_read("/proc/self/environ", early, sizeof(early));

	if (n > 0)
		early_len = (size_t)n;
}

/* Most entries differ in the first byte, and there are many options. */
static const char *value_of(const char *entry, const char *name, size_t len)
{
	if (*entry != *name || strncmp(entry, name, len) || entry[len] != '=')
		return NULL;
	return entry + len + 1;
}

static const char *find_early(const char *name, size_t len)
{
	const char *value;

	if (!early_len)
		read_early();
	for (size_t i = 0; i < early_len; i += strlen(early + i) + 1) {
		value = value_of(early + i, name, len);
		if (value)
			return value;
	}
	return NULL;
}

const char *kf_env_get(const char *name)
{
	extern char **environ;
	size_t len = strlen(name);
	const char *value = NULL;

	if (!environ)
		value = find_early(name, len);
	for (char **e = environ; e && *e && !value; e++)
		value = value_of(*e, name, len);
	return value;
}

static void each_entry(const char *entry, const char *prefix,
		       void (*each)(const char *name, size_t len))
{
	if (!strncmp(entry, prefix, strlen(prefix)))
		each(entry, strcspn(entry, "="));
}

void kf_env_each(const char *prefix, void (*each)(const char *name, size_t len))
{
	extern char **environ;

	if (!environ) {
		for (size_t i = 0; i < early_len; i += strlen(early + i) + 1)
			each_entry(early + i, prefix, each);
		return;
	}
	for (char **e = environ; *e; e++)
		each_entry(*e, prefix, each);
}
