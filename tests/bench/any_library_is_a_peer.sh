#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A library given as NAME=PATH is a peer of each benchmark that compares: it has
# a column or a row, and its malloc serves the program. bench-peers lists it, says
# which allocators it did not find, and says so if a library serves no malloc.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
needs perl perl
workdir
plant_suite

# Its malloc is glibc's, and leaves a mark.
cat >"$WORK/planted.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next) {
		next = dlsym(RTLD_NEXT, "malloc");
		if (getenv("PLANTED_MARK"))
			close(open(getenv("PLANTED_MARK"), O_CREAT, 0600));
	}
	return next(size);
}
END
mkdir "$WORK/a directory"
planted="$WORK/a directory/planted.so"
compile -O1 -shared -fPIC -o "$planted" "$WORK/planted.c" -ldl
PLANTED_MARK=$WORK/mark
export PLANTED_MARK

# compared SCRIPT ARG...: a table with the peer, which was really used
compared() {
	script=$1
	shift
	rm -f "$PLANTED_MARK"
	"$PYTHON3" "$top_srcdir/bench/$script" --library "$KF_LIB" \
		--build "$top_builddir" --peer "planted=$planted" \
		--peers planted,konfiscator,glibc "$@" >"$WORK/out" \
		2>"$WORK/err" || fail "$script: $? $(cat "$WORK/err")"
	grep -Eq '(^|  )planted( |$)' "$WORK/out" ||
		fail "$script: no peer 'planted' in $(cat "$WORK/out")"
	grep '^warning' "$WORK/err" && fail "$script warns of a good peer"
	[ -e "$PLANTED_MARK" ] || fail "$script did not run the peer"
}

echo 'exec perl -e 1' | plant_workload short
echo 'short real short' >"$SUITE/suite.txt"
compared run.py --source "$SUITE" --suite "$SUITE/suite.txt" --rounds 1
compared small.py --only cat --rounds 1
compared rss.py --only phases --rounds 1 --parts 1
compared scaling.py --threads 2 --operations 1000000
compared longrun.py --operations 100000 --blocks 1000 --lines 2
compared micro.py --only fast-64 --rounds 1 --shorter 1000
compared worst.py --only planted --rounds 1 --operations 1000

# Every target of make passes on what is in PEERS.
for target in bench bench-peers bench-quick bench-micro bench-instructions \
	bench-rss bench-small bench-scaling bench-longrun bench-worst \
	bench-limit; do
	MAKEFLAGS='' make -n -C "$top_builddir" "$target" \
		PEERS="planted=/x/y.so other=/z.so" >"$WORK/commands" ||
		fail "make -n $target failed"
	grep -q -e "--peer 'planted=/x/y.so' --peer 'other=/z.so'" \
		"$WORK/commands" || fail "make $target does not pass on PEERS"
done

peers() {
	"$PYTHON3" "$top_srcdir/bench/peers.py" --library "$KF_LIB" "$@"
}
echo 'int kf_nothing;' >"$WORK/nothing.c"
compile -shared -fPIC -o "$WORK/nothing.so" "$WORK/nothing.c"
peers --peer "planted=$planted" --peer "nothing=$WORK/nothing.so" >"$WORK/out"
cat "$WORK/out"
grep -qx "glibc: glibc [0-9.]*, without a preload" "$WORK/out" ||
	fail "glibc is not listed"
grep -qx "konfiscator: .*, $KF_LIB" "$WORK/out" ||
	fail "the library is not listed, or not as usable"
grep -qx "planted: planted.so, $planted" "$WORK/out" ||
	fail "the given library is not listed, or not as usable"
grep -q "^nothing: .*: NOT USABLE, programs do not get its malloc$" \
	"$WORK/out" || fail "a library without malloc is listed as a peer"
for name in jemalloc tcmalloc mimalloc rpmalloc snmalloc; do
	equal "lines of $name" 1 "$(grep -c "^$name: " "$WORK/out")"
done

# Each benchmark warns of such a library, and refuses a file that is no library.
peer_of_small() {
	"$PYTHON3" "$top_srcdir/bench/small.py" --build "$top_builddir" \
		--peer "odd=$1" --peers odd --only cat --rounds 1 \
		--reference odd --subject odd >/dev/null 2>"$WORK/err"
}
peer_of_small "$WORK/nothing.so" || fail "small.py: $(cat "$WORK/err")"
equal "warning" "warning: peer odd: programs do not get the malloc of\
 $WORK/nothing.so" "$(cat "$WORK/err")"
status=0
peer_of_small "$WORK/nothing.c" || status=$?
equal "status for what cannot be preloaded" 2 "$status"
