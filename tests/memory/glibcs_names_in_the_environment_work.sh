#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# MALLOC_MMAP_THRESHOLD_ and its sisters, and GLIBC_TUNABLES, do what mallopt
# does; options of the library go before them. What has no effect here, and a bad
# value, is told once, and changes nothing.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

# tuned WANT SIZE NAME=VALUE...: the program's line, and nothing on stderr
tuned() {
	want=$1
	size=$2
	shift 2
	got=$(run_under env "$@" "${top_builddir:?}/tests/memory/tuned" \
		"$size" 2>"$WORK/err") || fail "$*: status $?"
	equal "$*" "$want" "$got"
	equal "$*: stderr" "" "$(cat "$WORK/err")"
}

# told TEXT NAME=VALUE: the same line as without, and one that tells why
told() {
	got=$(run_under env "$2" "$top_builddir/tests/memory/tuned" \
		200000 2>"$WORK/err") || fail "$2: status $?"
	equal "$2" "1 0 0 0" "$got"
	equal "$2: stderr" "konfiscator: $1" "$(cat "$WORK/err")"
}

# the threshold follows what is freed, until it is fixed
tuned "1 0 0 0" 200000 A=
tuned "1 0 0 1" 200000 MALLOC_MMAP_THRESHOLD_=200000
tuned "0 0 0 0" 200000 MALLOC_MMAP_THRESHOLD_=200001
tuned "1 0 0 1" 200000 MALLOC_TRIM_THRESHOLD_=131072
tuned "1 0 0 1" 200000 MALLOC_TRIM_THRESHOLD_=-1
tuned "1 0 0 1" 200000 GLIBC_TUNABLES=glibc.malloc.mmap_threshold=200000
tuned "0 0 0 0" 200000 MALLOC_MMAP_MAX_=0
tuned "0 0 0 0" 200000 GLIBC_TUNABLES=glibc.cpu.x=1:glibc.malloc.mmap_max=0
tuned "1 0 250 0" 200000 MALLOC_PERTURB_=5
tuned "1 0 250 0" 200000 GLIBC_TUNABLES=glibc.malloc.perturb=5
tuned "0 3 0 0" 100 MALLOC_TOP_PAD_=3500000
tuned "1 0 0 0" 200000 MALLOC_ARENA_MAX=3 MALLOC_ARENA_TEST=2
tuned "1 0 0 1" 200000 MALLOC_MMAP_THRESHOLD_=300000 \
	KONFISCATOR_MMAP_THRESHOLD=100K

told "MALLOC_CHECK_=3: has no effect here; see KONFISCATOR_ON_ERROR" \
	MALLOC_CHECK_=3
told "glibc.malloc.tcache_count=0: has no effect here" \
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0
told "MALLOC_ARENA_MAX=many: not a valid value; the default stays" \
	MALLOC_ARENA_MAX=many
told "MALLOC_MMAP_THRESHOLD_=99999999999: not a valid value; the default stays" \
	MALLOC_MMAP_THRESHOLD_=99999999999

# Behind the engine system they mean what they mean without the library.
KONFISCATOR_ENGINE=system run_under env MALLOC_ARENA_MAX=many \
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0 true 2>"$WORK/err" ||
	fail "engine system: status $?"
equal "engine system: stderr" "" "$(cat "$WORK/err")"
