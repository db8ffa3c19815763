/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/vdso.c against the dynamic linker, which knows the kernel's object too.
 */
#include "config.h"

#include "sys/vdso.h"

#include "base/compiler.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include "tests/unit/unit.h"

#define OBJECT "linux-vdso.so.1"

/* Names of all machines; each has some of them. */
static const char *const names[] = {
	"__vdso_clock_gettime",	  "__vdso_getcpu",
	"__vdso_gettimeofday",	  "__vdso_time",
	"__kernel_clock_gettime", "__kernel_gettimeofday",
	"clock_gettime",
};

START_TEST(what_it_finds_the_linker_finds_too)
{
	void *object = dlopen(OBJECT, RTLD_LAZY | RTLD_NOLOAD);
	int found = 0;

	for (size_t i = 0; i < KF_ARRAY_SIZE(names); i++) {
		void *symbol = kf_vdso_find(names[i]);

		found += symbol != NULL;
		if (symbol)
			ck_assert_ptr_eq(symbol, dlsym(object, names[i]));
	}
#if defined(__x86_64__)
	/* Emulators and valgrind hide the object. */
	if (getauxval(AT_SYSINFO_EHDR))
		ck_assert_int_ge(found, 4);
#endif
}
END_TEST

START_TEST(other_names_are_not_found)
{
	ck_assert_ptr_null(kf_vdso_find(""));
	ck_assert_ptr_null(kf_vdso_find("malloc"));
	ck_assert_ptr_null(kf_vdso_find("__vdso_clock_gettim"));
	ck_assert_ptr_null(kf_vdso_find("__vdso_clock_gettimes"));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		what_it_finds_the_linker_finds_too,
		other_names_are_not_found,
	};

	return unit_run("sys/vdso", tests, KF_ARRAY_SIZE(tests));
}
