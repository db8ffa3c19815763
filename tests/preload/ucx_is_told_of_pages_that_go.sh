#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# UCX, which MPI uses, hears of all pages of blocks that go back to the kernel,
# however it listens: it patches the C library's code, or relocations. What it
# does not hear of its network cards would go on reading.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

# shellcheck disable=SC2086
"${CC:-cc}" -O1 -fno-builtin -o "$WORK/busy" \
	"$top_srcdir/tests/preload/busy.c" "$top_srcdir/tests/preload/ucx.c" \
	-lucm -lucs -lpthread 2>"$WORK/err" ||
	skip "UCX is missing (package libucx-dev)"

for mode in bistro reloc; do
	for engine in firstfit; do
		UCX_MEM_MMAP_HOOK_MODE=$mode KONFISCATOR_ENGINE=$engine \
			run_under timeout -k 9 300 "$WORK/busy" \
			>"$WORK/out" 2>"$WORK/err" ||
			fail "$mode, $engine: status $?: $(cat "$WORK/err")"
		read -r _ _ _ events _ <"$WORK/out"
		[ "$events" -gt 10 ] ||
			fail "$mode, $engine: $events events are too few"
		echo "$mode, $engine: $events events"
	done
done
