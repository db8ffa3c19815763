#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A guarded block is a block as any other for realloc, calloc, aligned calls,
# malloc_usable_size and mallinfo, and for the counters.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

KONFISCATOR_SAMPLE=4K KONFISCATOR_GUARD_SLOTS=16 KONFISCATOR_GUARD_RATE=0
export KONFISCATOR_SAMPLE KONFISCATOR_GUARD_SLOTS KONFISCATOR_GUARD_RATE

run_under "${top_builddir:?}/tests/guarded/frees" facts >"$WORK/out" \
	2>"$WORK/err"
equal "what the program sees" "more in use: 1
kept: 1
done" "$(cat "$WORK/out")"
[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"

"$KF_CLI" stat --format=json "$WORK"/stats/frees.* >"$WORK/json"
"${PYTHON3:?}" - "$WORK/json" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
s = s[0] if isinstance(s, list) else s
assert s["guarded"] > 100, s["guarded"]
parts = sum(s[k] for k in ("metadata", "free_runs", "slabs", "large", "pools"))
assert parts == s["mapped"], (parts, s["mapped"])
assert not any(v for k, v in s.items() if k.startswith("guard_")), s
END

# Once the program filters its system calls, no guard needs one.
equal "under a filter" filtered "$(run_under \
	"${top_builddir:?}/tests/guarded/frees" filtered 2>"$WORK/err")"
[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"
