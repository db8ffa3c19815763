#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# dtrace(1) finds as many probes in konfiscator.d as the generator.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need dtrace
workdir

dtrace -h -s "$top_srcdir/probes/konfiscator.d" -o "$WORK/dtrace.h"
generate names | awk '{ print toupper($1 "_" $2) }' | sort >"$WORK/want"
sed -n 's/^#define \([A-Z0-9_]*\)_ENABLED().*/\1/p' \
	"$WORK/dtrace.h" | sort -u >"$WORK/got"
[ -s "$WORK/got" ] || fail "no probe in what dtrace made"
diff "$WORK/want" "$WORK/got" ||
	fail "dtrace (right) does not see what is declared (left)"
