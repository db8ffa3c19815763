#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stack of python3, which keeps no frame pointers, has its native frames:
# most of a deep one lie in python3 itself or its library.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
: "${PYTHON3:=python3}"
[ "$PYTHON3" != none ] || skip "python3 is not installed"

KONFISCATOR_SAMPLE=16K run_under "$PYTHON3" -c '
import json
kept = [json.loads("[%d, [1, 2, {}]]" % n) for n in range(20000)]
for line in open("/proc/self/maps"):
    print(line, end="")' >"$WORK/maps"
# Where python3 is a script that finds it there are more files than one.
for file in "$WORK/stats"/*; do
	"$top_builddir/tests/sample/stacks" "$file"
done >"$WORK/stacks"

# How many frames of the deepest stack are python's.
frames=$("$PYTHON3" - "$WORK/maps" "$WORK/stacks" <<'EOF'
import sys
spans = []
for line in open(sys.argv[1]):
    if "/python3" in line or "/libpython3" in line:
        spans.append([int(x, 16) for x in line.split()[0].split("-")])
best = 0
for line in open(sys.argv[2]):
    frames = [int(x, 16) for x in line.split()[8:]]
    best = max(best, sum(any(a <= f < b for a, b in spans) for f in frames))
print(best)
EOF
)
[ "$frames" -ge 8 ] || fail "a stack has only $frames frames of python3"
