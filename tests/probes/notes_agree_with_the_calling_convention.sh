#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A probe's arguments are, by its note, in the registers that a call has them
# in, as OpenTelemetry's profiler believes without looking at the note: for each
# compiler that is here, with and without optimization.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need_probes
need readelf
workdir

case $(uname -m) in
x86_64) registers='%rdi %rsi %rdx %rcx %r8 %r9' ;;
aarch64) registers='x0 x1 x2 x3 x4 x5' ;;
*) skip "the registers of $(uname -m) are not known here" ;;
esac

mkdir "$WORK/probes"
generate header >"$WORK/probes/konfiscator-probes.h"
generate source >"$WORK/probes.c"

# wanted: each guarded probe with the places that its arguments ought to have
wanted() {
	generate names | awk -v registers="$registers" '
		BEGIN { split(registers, reg, " ") }
		$3 == "guarded" {
			line = $1 " " $2
			for (i = 1; i <= $4; i++)
				line = line " 8@" reg[i]
			print line
		}' | sort
}

# check COMPILER LEVEL
check() {
	# shellcheck disable=SC2086 # CC may be a list
	$1 "$2" -std=gnu11 -fPIC -fno-omit-frame-pointer -I"$WORK" \
		-I"$top_srcdir/src" -c -o "$WORK/probes.o" "$WORK/probes.c"
	notes "$WORK/probes.o" | awk '{
		line = $1 " " $2
		for (i = 5; i <= NF; i++)
			line = line " " $i
		print line
	}' | sort >"$WORK/found"
	diff "$WORK/wanted" "$WORK/found" ||
		fail "$1 $2: wanted (left), the notes say (right)"
	checked="$checked $1$2"
}

wanted >"$WORK/wanted"
grep -q '^otel_memory alloc' "$WORK/wanted" ||
	fail "otel_memory:alloc is not declared"
checked=
for compiler in "${CC:-cc}" gcc clang; do
	command -v "${compiler%% *}" >/dev/null || continue
	for level in -O0 -O2; do
		check "$compiler" "$level"
	done
done
echo "checked:$checked"
[ -n "$checked" ] || fail "no compiler was checked"
