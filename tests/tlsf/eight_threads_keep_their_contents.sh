#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Eight threads of posix_memalign and realloc find in their blocks what they
# wrote, in pools that grow meanwhile too; the counters' states then add up to
# what is held, and what mallinfo2 tells is true.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
[ "$PYTHON3" != none ] || skip "python3 is missing"
workdir
# shellcheck source=tests/tlsf/tlsf.sh
. "$top_srcdir/tests/tlsf/tlsf.sh"

tlsf "$pools" threads || fail "in one pool"
tlsf KONFISCATOR_TLSF_INITIAL=0 KONFISCATOR_TLSF_ADDITIONAL=300K \
	"$pools" threads 2>"$WORK/err" || fail "in many: $(cat "$WORK/err")"
[ "$(wc -l <"$WORK/err")" -gt 3 ] || fail "the pools did not grow"
tlsf "$pools" sums || fail "mallinfo2"

"$KF_CLI" --format=json stat -a -n pools --dir "$KONFISCATOR_DIR" \
	>"$WORK/json" || fail "stat ended with $?"
"$PYTHON3" - "$WORK/json" <<'END'
import json
import sys

(row,) = json.load(open(sys.argv[1]))
print(row)
assert row["processes"] == 3, row
assert row["mallocs"] > 100000 and row["frees"] > 100000, row
assert row["live_blocks"] == row["mallocs"] - row["frees"], row
states = [row[s + "_bytes"] for s in ("live", "rounding", "cached", "free",
                                      "metadata")]
assert sum(states) == row["held_bytes"], row
# All but what the C library keeps was freed: the pools are free again.
assert row["live_bytes"] + row["rounding_bytes"] < 200000, row
assert row["free_bytes"] > 200 * 2 ** 20, row
assert row["metadata_bytes"] < 3 * 2 ** 20, row
END
