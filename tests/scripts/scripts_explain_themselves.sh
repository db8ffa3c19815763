#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The head of every script says which question it answers, how it is run, what
# it prints, how to read that, what it costs and where it errs.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"

nr=0
for script in "$top_srcdir"/scripts/bpftrace/*.bt \
	"$top_srcdir"/scripts/stap/*.stp \
	"$top_srcdir"/scripts/glibc/*; do
	nr=$((nr + 1))
	for part in Question Usage Output 'How to read it' Overhead Caveats; do
		grep -q "^ *[*#] ${part}[:,( ]" "$script" ||
			fail "${script##*/} does not say '$part:'"
	done
	[ -x "$script" ] || fail "${script##*/} cannot be executed"
done
[ "$nr" -ge 14 ] || fail "found $nr scripts only"
