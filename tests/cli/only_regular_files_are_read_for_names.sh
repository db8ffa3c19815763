#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program of another user names other files that have its debug information:
# by debug link, by alternate debug link, as split units. Where one of these is a
# FIFO nobody waits for it; where a debug link leads to a file its names are read.
. "$top_srcdir/tests/lib.sh"
needs gcc build-essential
needs objcopy binutils
workdir
. "$top_srcdir/tests/cli/cli.sh"

cd "$WORK"
cat >program.c <<'END'
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

static inline __attribute__((always_inline)) void inlined(void)
{
	block = malloc(100000);
}

__attribute__((noinline)) void lose(void)
{
	inlined();
}

int main(void)
{
	for (int i = 0; i < 23; i++)
		lose();
	write(1, "done\n", 5);
	return (int)read(0, &block, 1);
}
END

# recorded OPTION...: a profile of ./program, as prof
recorded() {
	rm -f prof
	hold run_under_exec ./program
	expect 0 timeout 120 "$KF_CLI" record "$@" -p $program -o prof \
		--duration 0.1
	release
}

# names: the first site's function and its callers; the program's own are what
# is asked for
names() {
	kf_rc=0
	timeout 120 "$KF_CLI" --format=csv report prof >table 2>err </dev/null ||
		kf_rc=$?
	[ "$kf_rc" = 0 ] || fail "$1: the report ended with $kf_rc"
	sed -n '2s/ < __libc_start_call_main.*//p' table | cut -d, -f6-
}

# By debug link.
gcc -w -g -O2 -Wl,--build-id=sha1 -o program program.c || fail "no program"
objcopy --only-keep-debug program other
objcopy --strip-all --add-gnu-debuglink=other program
recorded --no-symbols
case $(names "a debug link") in
*inlined*) ;;
*) fail "a debug link is not followed: $(names "a debug link")" ;;
esac
rm other
mkfifo other
case $(names "a debug link to a FIFO") in
*inlined*) fail "the names come from elsewhere" ;;
esac

# Split units.
rm -f other
gcc -w -g -gsplit-dwarf -O2 -c -o program.o program.c || fail "no split units"
gcc -o program program.o || fail "no program of split units"
recorded --no-symbols
rm ./*.dwo
mkfifo program.dwo
case $(names "a split unit that is a FIFO") in
*lose*) ;;
*) fail "the program's own names are missing" ;;
esac

# By alternate debug link, with a name that stands there.
gcc -w -g -O2 -Wl,--build-id=sha1 -o program program.c || fail "no program"
{
	printf '%s\0' "$WORK/other"
	head -c 20 /dev/zero | tr '\0' x
} >"$WORK/altlink"
objcopy --add-section .gnu_debugaltlink=altlink program
mkfifo other
for how in "" --no-symbols; do
	# shellcheck disable=SC2086 # a word or none
	recorded $how
	case $(names "an alternate debug link to a FIFO") in
	*lose*) ;;
	*) fail "the program's own names are missing" ;;
	esac
done

# The program itself.
mv program gone
mkfifo program
names "a program that is a FIFO" >/dev/null
