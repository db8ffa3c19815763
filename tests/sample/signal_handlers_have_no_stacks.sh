#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Blocks that a handler of signals makes, on whichever stack, are samples
# without a stack, and counted as such; what comes after it has one again.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/sample/cases.sh
. "$top_srcdir/tests/sample/cases.sh"

cases handling
table "$WORK/stats"/* >"$WORK/table"
sites "$WORK/table" 200000
none=$(awk '$7 == 0 && $1 > 90000 { n += $4 } END { print n + 0 }' "$WORK/table")
equal "samples of handlers" 46 "$none"
equal "stacks that were given up" 46 "$(word stacks_failed)"
