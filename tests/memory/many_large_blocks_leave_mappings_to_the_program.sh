#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# 70000 large blocks at once are more than the kernel has mappings for. All of
# them are had, and half of the mappings are left to the program: nearly all,
# where the blocks lie side by side.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

most=$(cat /proc/sys/vm/max_map_count)
[ "$most" -ge 65530 ] || skip "vm.max_map_count is only $most"

# at_most NR HOW
at_most() {
	nr=$(run_under "${top_builddir:?}/tests/memory/blocks" "$2") ||
		fail "$2: ended with status $?"
	[ "$nr" -le "$1" ] || fail "$2: $nr mappings, at most $1 are wanted"
}

for how in alike varied small many threads; do
	at_most 500 "$how"
done
# Here holes are between them.
for how in holes growing aligned; do
	at_most 35000 "$how"
done
