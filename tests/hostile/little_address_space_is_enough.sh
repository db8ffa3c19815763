#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A small program that runs with so many addresses (RLIMIT_AS) by itself runs
# with 3.5 MiB more under the library, and does the same.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

# limited KIB COMMAND...
limited() (
	# shellcheck disable=SC3045
	ulimit -v "$1" 2>/dev/null || exit 99
	shift
	exec "$@"
)

# least PROGRAM...: KiB that it needs, to some pages, in $high
least() {
	low=1000
	high=100000
	while [ $((high - low)) -gt 16 ]; do
		middle=$(((low + high) / 2))
		if limited "$middle" "$@" >/dev/null 2>&1; then
			high=$middle
		else
			low=$middle
		fi
	done
}

limited 1000000 true || skip "this shell cannot limit addresses"
for program in true ls; do
	least "$program" /
	equal "$program / with $((high + 3584)) KiB under the library" \
		"$("$program" /)" "$(limited $((high + 3584)) env \
		LD_PRELOAD="$KF_PRELOAD" KONFISCATOR_DIR="$WORK" "$program" /)"
done
