#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where a program's names or inlined calls cannot be found, report says for which
# file, and what would help: for a stripped program, one whose split units are
# gone, and one whose debug information libelf cannot unpack. -q hides it, and
# where all is there nothing is said.
. "$top_srcdir/tests/lib.sh"
needs gcc build-essential
needs objcopy binutils
workdir
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
cat >program.c <<'END'
#include <stdlib.h>
#include <unistd.h>

void *volatile block;

static inline __attribute__((always_inline)) void inmost(void)
{
	block = malloc(1000000);
}

__attribute__((noinline)) void outer(void)
{
	inmost();
	__asm__ volatile("");
}

int main(void)
{
	outer();
	write(1, "done\n", 5);
	return (int)read(0, &block, 1);
}
END
# recorded: make a profile of the program, without the names of now
recorded() {
	hold run_under_exec ./program
	expect 0 "$KF_CLI" record -p "$program" -o prof --no-symbols --duration 0.1
	release
}

silent() {
	! grep -q "$WORK/program" err || fail "$1: $(cat err)"
}

build() {
	gcc -w -O1 -fno-omit-frame-pointer -Wl,--build-id=sha1 "$@" -o program \
		program.c || fail "no program"
}

build -g
recorded
expect 0 "$KF_CLI" report prof
silent "nothing is missing"

objcopy -S program stripped
mv stripped program
expect 0 "$KF_CLI" report prof
says "debug symbols of $WORK/program are missing: install its -dbgsym package or set DEBUGINFOD_URLS"
expect 0 "$KF_CLI" -q report prof
silent "-q"
expect 0 "$KF_CLI" report -o out.folded prof
says "debug symbols of $WORK/program are missing"

build -g -gsplit-dwarf
recorded
expect 0 "$KF_CLI" report --view=leaks prof
silent "the split unit is there"
prints "inmost < outer"
dwo=$(echo ./*.dwo)
[ -e "$dwo" ] || fail "gcc has made no split unit"
mv "$dwo" elsewhere
expect 0 "$KF_CLI" report prof
says "inlined calls of $WORK/program are missing: its debug information is in other files, and ${dwo#./} is missing"

# no open waits for a fifo that another user's file names
if [ "$(id -u)" = 0 ]; then
	mkfifo "$dwo"
	chown 65534 program
	timeout 100 "$KF_CLI" report --view=leaks prof >out 2>err ||
		fail "report of another user's program: status $?"
	chown 0 program
	rm "$dwo"
fi

build -g
recorded
objcopy --compress-debug-sections=zstd program packed 2>/dev/null ||
	skip "objcopy has no zstd"
mv packed program
expect 0 "$KF_CLI" --format=csv report --view=leaks prof
if grep -q "inmost < outer" out; then
	silent "libelf can unpack zstd"
else
	says "debug information of $WORK/program is compressed by zstd, which this libelf cannot read"
fi
