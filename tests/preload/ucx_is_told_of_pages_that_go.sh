#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# UCX, which MPI uses, hears of all pages of blocks that go back to the kernel,
# however it listens: it patches the C library's code, or relocations. What it
# does not hear of its network cards would go on reading.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

compile -O1 -fno-builtin -o "$WORK/busy" \
	"$top_srcdir/tests/preload/busy.c" "$top_srcdir/tests/preload/ucx.c" \
	-lucm -lucs -lpthread 2>"$WORK/err" ||
	skip "UCX is missing (package libucx-dev)"

# run ENGINE [late]
run() {
	UCX_MEM_MMAP_HOOK_MODE=$mode KONFISCATOR_ENGINE=$1 \
		run_under timeout -k 9 300 "$WORK/busy" ${2:+"$2"} \
		>"$WORK/out" 2>"$WORK/err" ||
		fail "$mode, $1: status $?: $(cat "$WORK/err")"
	read -r _ _ _ events _ <"$WORK/out"
	[ "$events" -gt 10 ] || fail "$mode, $1: $events events are too few"
	echo "$mode, $1: $events events"
}

for mode in bistro reloc; do
	for engine in $(engines_but system secure); do
		run "$engine"
	done
	run secure late
done
