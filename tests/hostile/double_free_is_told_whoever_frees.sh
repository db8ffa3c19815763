#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A block that is freed twice is told of where its thread has no heap of its own,
# where mallopt(M_PERTURB) was called, and where another thread frees: at the
# second free, or when its owner or another thread takes back what others freed.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir

# told SHAPE BYTES [VARIABLE=VALUE]
told() {
	status=0
	env "${3:-KONFISCATOR_STATS=1}" LD_PRELOAD="$KF_PRELOAD" \
		prlimit --core=0 "${top_builddir:?}/tests/hostile/twice" \
		"$1" "$2" >"$WORK/out" 2>"$WORK/err" || status=$?
	equal "$*: status, where it said: $(cat "$WORK/out")" 134 "$status"
	grep -q "^konfiscator: \($what\) " "$WORK/err" ||
		fail "$*: $(cat "$WORK/err")"
}

what='double free of'
for bytes in 16 32 200 1000 5000; do
	for shape in perturbed later other owner-then sleeper; do
		told $shape $bytes
	done
	told guest $bytes KONFISCATOR_ARENA_MAX=1
	told other $bytes KONFISCATOR_ARENA_MAX=1
	told other $bytes KONFISCATOR_SAMPLE=64K
	told other $bytes KONFISCATOR_TAG=all
done

# What follows in the lists may be told of as well.
what='double free of\|bytes were written after the free of\|invalid pointer'
for bytes in 16 32 200 1000 5000 40000; do
	told then-owner $bytes
done
told perturbed 40000
told other 40000
