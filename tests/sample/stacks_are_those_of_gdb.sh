#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The stacks of samples are frame by frame those that gdb finds, to the begin of
# the program or thread: of programs of the system, of which none was prepared.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gdb gdb
workdir

# compare EVERY LEAST PROG ARG...
compare() {
	every=$1 least=$2
	shift 2
	command -v "$1" >/dev/null || {
		echo "not compared: $1 is missing"
		return
	}
	EVERY=$every MOST=60 DEBUGINFOD_URLS='' gdb -q -nx -batch \
		-ex "set exec-wrapper env LD_PRELOAD=${KF_PRELOAD:?} KONFISCATOR_DIR='$WORK' KONFISCATOR_SAMPLE=4K" \
		-x "$top_srcdir/tests/sample/compare_stacks.py" \
		--args "$@" >"$WORK/out" 2>"$WORK/err" ||
		fail "gdb: $(tail -n 3 "$WORK/err")"
	! grep differs "$WORK/out" || fail "$1: stacks differ from gdb's"
	got=$(sed -n 's/^compared \([0-9]*\) .*/\1/p' "$WORK/out")
	[ "${got:-0}" -ge "$least" ] ||
		fail "$1: only ${got:-0} stacks are the same as gdb's: $(
			tail -n 3 "$WORK/out" "$WORK/err")"
	echo "$1: $got stacks"
}

compare 3 50 /usr/bin/python3 -c 'import json, decimal
kept = [json.dumps({"a": [i]}) for i in range(100000)]'
# shellcheck disable=SC2016 # perl's variables
compare 1 20 perl -e '@a = map {[$_, "x" x $_]} 1 .. 20000'
compare 2 50 node -e 'const a = []
for (let i = 0; i < 100000; i++) a.push({i, s: "x" + i})'
echo 'int sum(const int *a, int n) { int s = 0; while (n--) s += a[n]; return s; }' \
	>"$WORK/sum.c"
compare 2 50 "$(compile -print-prog-name=cc1)" -quiet -O2 "$WORK/sum.c" \
	-o /dev/null
compare 20 20 gs -q -dNODISPLAY -c quit
