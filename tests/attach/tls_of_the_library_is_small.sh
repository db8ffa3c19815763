#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A library that is loaded into a running process gets its thread variables from
# a small surplus, 1664 bytes by default, which it shares with others that come
# so: ours take at most 128, with no alignment above that of a word.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs readelf binutils

readelf -lW "$KF_LIB" | awk '
	$1 == "TLS" { bytes = $6; align = $NF; found = 1 }
	END {
		printf "%d bytes, aligned to %d\n", bytes, align
		exit !(found && bytes <= 128 && align <= 16)
	}' || fail "the thread variables of $KF_LIB do not fit"
