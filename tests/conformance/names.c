/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The other names of the family, and blocks that the C library makes.
 */
#include "case.h"

#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

CASE(libc_malloc_and_free_are_the_public_ones)
{
	void *(*libc_malloc)(size_t) = kf_symbol("__libc_malloc");
	void (*libc_free)(void *) = kf_symbol("__libc_free");
	void *(*libc_calloc)(size_t, size_t) = kf_symbol("__libc_calloc");
	void *(*libc_realloc)(void *, size_t) = kf_symbol("__libc_realloc");
	char *p;

	for (size_t n = 1; n < 3 * KF_MIB_BYTES; n += 1 + n / 3) {
		p = libc_malloc(n);
		CHECK(p && malloc_usable_size(p) >= n);
		free(p);
		libc_free(malloc(n));
		p = libc_calloc(n, 1);
		CHECK(p && kf_all(p, n, 0));
		p = realloc(p, 2 * n);
		CHECK(p && kf_all(p, n, 0));
		p = libc_realloc(p, 3 * n);
		CHECK(p && kf_all(p, n, 0));
		libc_free(p);
	}
	errno = 0;
	CHECK(!libc_malloc(kf_size(SIZE_MAX)));
	CHECK_EQ(errno, ENOMEM);
	errno = 0;
	CHECK(!libc_calloc(kf_size(SIZE_MAX), 2));
	CHECK_EQ(errno, ENOMEM);
	CHECK(!libc_realloc(malloc(1), 0));
	libc_free(NULL);
}

CASE(libc_memalign_valloc_and_pvalloc_are_the_public_ones)
{
	void *(*libc_memalign)(size_t, size_t) = kf_symbol("__libc_memalign");
	void *(*libc_valloc)(size_t) = kf_symbol("__libc_valloc");
	void *(*libc_pvalloc)(size_t) = kf_symbol("__libc_pvalloc");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = libc_memalign(256, 10);

	CHECK(p && (uintptr_t)p % 256 == 0);
	free(p);
	p = libc_memalign(48, 10);
	CHECK(p && (uintptr_t)p % 64 == 0);
	free(p);
	p = libc_valloc(10);
	CHECK(p && (uintptr_t)p % page == 0);
	free(p);
	p = libc_pvalloc(10);
	CHECK(p && (uintptr_t)p % page == 0 && malloc_usable_size(p) >= page);
	free(p);
}

CASE(double_underscore_posix_memalign_is_the_public_one)
{
	int (*underscored)(void **, size_t, size_t) =
		kf_symbol("__posix_memalign");
	void *p = NULL, *q;

	CHECK_EQ(underscored(&p, 512, 10), 0);
	CHECK(p && (uintptr_t)p % 512 == 0);
	free(p);
	q = p;
	errno = EXDEV;
	CHECK_EQ(underscored(&q, 3, 10), EINVAL);
	CHECK_EQ((uintptr_t)q, (uintptr_t)p);
	CHECK_EQ(errno, EXDEV);
}

CASE(all_names_of_the_family_come_from_one_library)
{
	static const char *const names[] = {
		"malloc",	   "free",	    "calloc",
		"realloc",	   "reallocarray",  "posix_memalign",
		"memalign",	   "aligned_alloc", "valloc",
		"pvalloc",	   "mallopt",	    "malloc_usable_size",
		"malloc_trim",	   "mallinfo",	    "mallinfo2",
		"malloc_stats",	   "malloc_info",   "__libc_malloc",
		"__libc_free",	   "__libc_calloc", "__libc_realloc",
		"__libc_memalign", "__libc_valloc", "__libc_pvalloc",
	};
	Dl_info first, info;

	CHECK(dladdr(kf_symbol("malloc"), &first));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(dladdr(kf_symbol(names[i]), &info));
		if (info.dli_fbase != first.dli_fbase)
			kf_case_fail(__FILE__, __LINE__, names[i]);
	}
}

static int every_entry(const struct dirent *d)
{
	return d != NULL;
}

CASE(blocks_that_the_c_library_makes_are_ours_to_free)
{
	struct dirent **entries;
	char *text = NULL, *line = NULL;
	size_t size = 0;
	FILE *f = fopen("/proc/self/status", "r");
	glob_t found;
	int nr;

	CHECK(f);
	while (getline(&line, &size, f) > 0)
		CHECK(malloc_usable_size(line) >= size);
	fclose(f);
	free(line);
	CHECK(asprintf(&text, "%*d", 70000, 5) == 70000);
	free(text);
	text = strdup("hello");
	CHECK(malloc_usable_size(text) >= 6);
	text = realloc(text, 100000);
	CHECK(text && !strcmp(text, "hello"));
	free(text);
	text = realpath("/proc/self/..", NULL);
	CHECK(text);
	free(text);
	text = getcwd(NULL, 0);
	CHECK(text);
	free(text);
	nr = scandir("/", &entries, every_entry, alphasort);
	CHECK(nr > 0);
	while (nr--)
		free(entries[nr]);
	free(entries);
	CHECK_EQ(glob("/*", 0, NULL, &found), 0);
	globfree(&found);
}

CASE(locales_name_services_and_converters_load_their_parts)
{
	iconv_t cd = iconv_open("UTF-16LE", "ISO-8859-1");
	char in[] = "abc", out[16], *from = in, *to = out;
	size_t left = 3, room = sizeof(out);

	setlocale(LC_ALL, "C.UTF-8");
	getpwuid(0);
	if (cd == (iconv_t)-1)
		kf_case_skip("no converter from ISO-8859-1 to UTF-16LE");
	CHECK_EQ(iconv(cd, &from, &left, &to, &room), 0);
	CHECK_EQ(room, sizeof(out) - 6);
	CHECK_EQ(iconv_close(cd), 0);
	setlocale(LC_ALL, "C");
}

CASE(setenv_and_putenv_of_many_variables_work)
{
	char name[32];

	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "VARIABLE_%d", i);
		CHECK_EQ(setenv(name, "value", 1), 0);
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "VARIABLE_%d", i);
		CHECK(!strcmp(getenv(name), "value"));
		CHECK_EQ(unsetenv(name), 0);
	}
}
