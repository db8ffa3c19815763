#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A library that loads another one finds it where its own RUNPATH says, as
# without us; what is loaded with RTLD_DEEPBIND has this malloc, and the C
# library's with KONFISCATOR_DEEPBIND=1.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
mkdir "$WORK/only-here"
cat >"$WORK/loaded.c" <<'END'
#include <stdlib.h>
void *loaded_make(void) { return malloc(100); }
void *(*loaded_malloc(void))(size_t) { return malloc; }
END
cat >"$WORK/loads.c" <<'END'
#include <dlfcn.h>
void *loads(int mode)
{
	void *handle = dlopen("libloaded.so", mode);

	return handle;
}
END
cat >"$WORK/program.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
extern void *loads(int mode);
int main(int argc, char **argv)
{
	void *handle = loads(RTLD_NOW | RTLD_DEEPBIND);
	void *(*(*its)(void))(size_t);
	void *(*make)(void);

	(void)argv;
	if (!handle) {
		puts(dlerror());
		return 1;
	}
	its = dlsym(handle, "loaded_malloc");
	make = dlsym(handle, "loaded_make");
	puts(its() == (void *)dlsym(RTLD_DEFAULT, "malloc") ? "ours" : "other");
	if (argc > 1)
		free(make());
	puts(dlopen("libloaded.so", RTLD_NOW | RTLD_NOLOAD) ? "there" : "gone");
	puts(dlopen("nowhere/to/be.found", RTLD_NOW) ? "found" : dlerror());
	return 0;
}
END
# build FILE ARGUMENT...: with no flags of ours, as users build.
build()
{
	out=$1
	shift
	# shellcheck disable=SC2086 # the compiler may have arguments
	${CC:-cc} -D_GNU_SOURCE -O1 -o "$WORK/$out" "$@" -ldl ||
		fail "$out cannot be built"
}
build only-here/libloaded.so -shared -fPIC "$WORK/loaded.c"
# shellcheck disable=SC2016 # the dynamic linker's word
build libloads.so -shared -fPIC "$WORK/loads.c" \
	-Wl,--enable-new-dtags,-rpath,'$ORIGIN/only-here'
build program "$WORK/program.c" -L"$WORK" -lloads -Wl,-rpath,"$WORK"

"$WORK/program" >"$WORK/without" ||
	fail "does not run without the library:" "$(cat "$WORK/without")"
equal "what it says last without the library" \
	"nowhere/to/be.found: cannot open shared object file: No such file or directory" \
	"$(tail -n 1 "$WORK/without")"
LD_PRELOAD=$KF_PRELOAD "$WORK/program" exchange >"$WORK/with" ||
	fail "status $? with the library:" "$(cat "$WORK/with")"
equal "its malloc" ours "$(head -n 1 "$WORK/with")"
equal "what it says then" "$(tail -n +2 "$WORK/without")" \
	"$(tail -n +2 "$WORK/with")"
KONFISCATOR_DEEPBIND=1 LD_PRELOAD=$KF_PRELOAD "$WORK/program" >"$WORK/deep" ||
	fail "status $? with KONFISCATOR_DEEPBIND=1:" "$(cat "$WORK/deep")"
equal "its malloc with KONFISCATOR_DEEPBIND=1" other "$(head -n 1 "$WORK/deep")"
