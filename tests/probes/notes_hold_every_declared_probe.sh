#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every declared probe is in the library's notes and no other, with its count
# of arguments, each a register of 64 bits or a constant; the guarded ones have
# a semaphore and one location each, the bare ones have no semaphore. Theirs may
# be in memory too, at a register.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need_probes
need readelf
workdir

generate names | awk '{ print $1, $2, $3, $4 }' | sort >"$WORK/declared"
[ -s "$WORK/declared" ] || fail "konfiscator.d declares nothing"
notes "$KF_LIB" >"$WORK/notes"
grep -q '^konfiscator ' "$WORK/notes" ||
	fail "$KF_LIB has no notes of konfiscator's"

awk '{ print $1, $2, $3, $4 }' "$WORK/notes" | sort -u >"$WORK/found"
diff "$WORK/declared" "$WORK/found" ||
	fail "the notes (right) are not what konfiscator.d declares (left)"

awk '$3 == "guarded" { print $1 ":" $2 }' "$WORK/notes" | sort | uniq -d \
	>"$WORK/twice"
[ ! -s "$WORK/twice" ] ||
	fail "guarded probes with several locations: $(tr '\n' ' ' <"$WORK/twice")"

readelf -nW "$KF_LIB" 2>/dev/null |
	awk '/^ *Location: /{ print $2 }' | sort | uniq -d >"$WORK/shared"
[ ! -s "$WORK/shared" ] ||
	fail "several probes at one address: $(tr '\n' ' ' <"$WORK/shared")"

awk '{
	for (i = 5; i <= NF; i++)
		if ($i !~ /^8@(%r[a-z0-9]+|x[0-9]+|\$-?[0-9]+)$/ &&
		    !($3 == "bare" && $i ~ /^8@-?[0-9]*\(%r[a-z0-9]+\)$/))
			print $2 ": " $i
}' "$WORK/notes" >"$WORK/places"
[ ! -s "$WORK/places" ] ||
	fail "arguments that a tracer may not read: $(cat "$WORK/places")"
