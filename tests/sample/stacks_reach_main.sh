#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stack of 200 calls reaches main, and what called it, with frame pointers and
# without, through a function that aligns its stack and through code without
# unwind tables, also where sampling begins by an order. It is cut after
# KONFISCATOR_STACK_FRAMES calls. With a C library without _dl_find_object(), as
# glibc before 2.35, stacks follow frame pointers, and ctl and report say so.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs nm binutils
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"

cat >"$WORK/deep.c" <<'END'
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

int bare(int (*then)(int), int depth);

static void *volatile kept[64];

NOINLINE int leaf(int depth)
{
	for (int i = 0; i < 64; i++)
		kept[i] = malloc(100000);
	return depth;
}

/* The size of its frame is known at run time only. */
NOINLINE int aligned(int depth)
{
	_Alignas(64) char text[64];
	char more[depth % 7 + 1];

	memset(text, depth, sizeof(text));
	memset(more, depth, sizeof(more));
	return leaf(depth) + text[depth % 64] + more[0];
}

NOINLINE int down(int depth)
{
	return depth ? down(depth - 1) + 1 : bare(aligned, depth);
}

/* Orders are obeyed when malloc needs more. */
int main(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	static void *block[20000];

	while (!poll(&in, 1, 1)) {
		for (int i = 0; i < 20000; i++)
			block[i] = malloc(100);
		for (int i = 0; i < 20000; i++)
			free(block[i]);
	}
	return down(195) < 0;
}
END
cat >"$WORK/bare.c" <<'END'
int bare(int (*then)(int), int depth);
int bare(int (*then)(int), int depth)
{
	return then(depth + 1) + 1;
}
END
# A function that calls itself is not to become a loop.
flags="-O1 -fno-optimize-sibling-calls"
# shellcheck disable=SC2086 # words
gcc $flags -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -c \
	-o "$WORK/bare.o" "$WORK/bare.c" || fail "bare.c cannot be built"
for frames in omit no-omit; do
	# shellcheck disable=SC2086 # words
	gcc $flags -f$frames-frame-pointer -o "$WORK/$frames" "$WORK/deep.c" \
		"$WORK/bare.o" || fail "deep.c cannot be built"
done

# stack PROGRAM [OPTION=VALUE]: the stack of the blocks of leaf(), outermost call
# first, on stdout, repeated functions once with their number
stack() {
	rm -rf "$WORK/stats"/*
	file=$1
	shift
	echo go | KONFISCATOR_SAMPLE=1K run_under env KONFISCATOR_KEEP=1 "$@" \
		"$WORK/$file" || fail "$file: status $?"
	folded
}

folded() {
	rm -f "$WORK/out.folded"
	for stats in "$WORK/stats"/*omit.*; do
		"$KF_CLI" report --no-fold "$stats" -o "$WORK/out.folded" 2>"$WORK/err" ||
			fail "$(cat "$WORK/err")"
	done
	grep ';leaf ' "$WORK/out.folded" | sed 's/ [0-9]*$//' | tr ';' '\n' |
		uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2*\1/; s/\*1$//' |
		paste -sd' '
}

start="_start __libc_start_main __libc_start_call_main main"
whole="$start down*196 bare aligned leaf"
for frames in omit no-omit; do
	equal "stack, $frames-frame-pointer" "$whole" "$(stack $frames)"
	equal "stack of 11, $frames-frame-pointer" \
		"[outer calls] down*8 bare aligned leaf" \
		"$(stack $frames KONFISCATOR_STACK_FRAMES=11)"
done

# order PROGRAM [OPTION=VALUE]: have it sample by an order; what ctl says is in
# $WORK/said
order() {
	rm -rf "$WORK/stats"/* "$WORK/in"
	mkfifo "$WORK/in"
	file=$1
	shift
	run_under_exec env KONFISCATOR_KEEP=1 "$@" "$WORK/$file" <"$WORK/in" &
	pid=$!
	exec 4>"$WORK/in"
	wait_for 60 "$KF_CLI" ctl "$pid" sample=1K >"$WORK/said" 2>&1 ||
		fail "ctl: $(cat "$WORK/said")"
	echo go >&4
	exec 4>&-
	wait "$pid" || fail "$file: status $?"
}

order omit
equal "stack by an order" "$whole" "$(folded)"
equal "ctl" "a sample in 1024 bytes" "$(tail -n 1 "$WORK/said")"

# In this one the function has another name, so nobody finds it.
libc=$(ldd "$WORK/omit" | awk '$1 == "libc.so.6" { print $3 }')
nm -D "$libc" | grep -qw _dl_find_object || {
	echo "the rest needs a glibc with _dl_find_object()"
	exit 0
}
mkdir "$WORK/old"
sed 's/_dl_find_object/_dl_lost_object/g' "$libc" >"$WORK/old/libc.so.6"
order no-omit LD_LIBRARY_PATH="$WORK/old"
grep -q "glibc before 2.35: stacks by frame pointers only" "$WORK/said" ||
	fail "ctl says: $(cat "$WORK/said")"
got=$(folded)
case $got in
*" main down*196 bare aligned leaf") ;;
*) fail "stack by frame pointers: $got" ;;
esac
"$KF_CLI" report "$WORK/stats"/no-omit.* >"$WORK/out" 2>&1 || fail "report failed"
grep -q "glibc before 2.35.*stacks by frame pointers only" "$WORK/out" ||
	fail "report says: $(cat "$WORK/out")"
"$KF_CLI" explain "$WORK/stats"/no-omit.* >"$WORK/out" 2>&1 ||
	fail "explain failed"
grep -q "glibc before 2.35.*stacks by frame pointers only" "$WORK/out" ||
	fail "explain says: $(cat "$WORK/out")"
