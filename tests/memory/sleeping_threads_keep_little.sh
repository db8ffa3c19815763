#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Freed blocks of a thread that sleeps go back to the kernel: within seconds in which
# any other thread allocates, and by malloc_trim(). A thread that freed its blocks
# itself keeps 256 KiB at most. A thread whose blocks others freed keeps a slab of each
# size class, 40 here, that its bin was filled from.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

# at_most KIB HOW THREADS MIB: KIB for each thread, and the 16 MiB that may be
# dirty at any time
at_most() {
	how=$2
	threads=$3
	mib=$4
	want=$((16384 + threads * $1))
	for by in trim clock; do
		got=$(run_under "${top_builddir:?}/tests/memory/sleepers" \
			"$how" "$threads" "$mib" "$by") ||
			fail "$how $by: ended with status $?"
		[ "$got" -le "$want" ] ||
			fail "$how $threads $mib $by: $got KiB, wanted $want"
	done
}

at_most 512 owners 16 16
at_most 512 owners 100 2
at_most 256 bursts 16 16
at_most 256 bursts 200 2
