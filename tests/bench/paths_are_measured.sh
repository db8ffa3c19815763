#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# micro.py has a time for each path under each allocator, and instructions.py
# counts calls and instructions of the steady state: the same in runs of any
# length, fewest where a block comes back at once.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
needs valgrind valgrind
workdir

valgrind_reads "$top_builddir/bench/paths" malloc 64 1 4

under() {
	program=$1
	shift
	"$PYTHON3" "$top_srcdir/bench/$program" --build "$top_builddir" \
		--library "$KF_LIB" --peers glibc,konfiscator "$@"
}

under micro.py --rounds 2 --shorter 2000 --json "$WORK/micro.json" \
	--more-than glibc >"$WORK/micro" || fail "micro.py ended with $?"
under instructions.py --only 64 --only 64-fill-drain --only calloc-64 \
	--json "$WORK/instructions.json" --markdown "$WORK/md" \
	>"$WORK/instructions" || fail "instructions.py ended with $?"
cat "$WORK/micro" "$WORK/instructions"
grep -q '^| 64 | [0-9]*/[0-9]* | [0-9]*/[0-9]* |$' "$WORK/md" ||
	fail "no row in the markdown"

# Of two rounds the interval has both differences.
"$PYTHON3" - "$WORK/micro.json" "$WORK/micro" <<'END'
import json
import re
import sys

paths = json.load(open(sys.argv[1]))["paths"]
shown = open(sys.argv[2]).read()
assert "konfiscator - glibc" in shown, shown
for path, ns in paths.items():
    more = sorted(a - b for a, b in zip(ns["konfiscator"], ns["glibc"]))
    row = re.search(r"^%s .* (\S+) \((\S+) to (\S+)\)$" % path, shown, re.M)
    want = [sum(more) / 2, more[0], more[1]]
    assert row, path
    for a, b in zip(row.groups(), want):
        assert abs(float(a) - b) <= 0.051, (path, row.groups(), want)
END

status=0
under micro.py --more-than nosuch 2>"$WORK/err" || status=$?
equal "status of --more-than nosuch" 2 "$status"
grep -q nosuch "$WORK/err" || fail "nobody says what is not a peer"

"$PYTHON3" - "$WORK/micro.json" "$WORK/instructions.json" <<'END'
import json
import sys

micro, counts = (json.load(open(f))["paths"] for f in sys.argv[1:])
assert len(micro) >= 10, micro
for path, peers in micro.items():
    for peer, ns in peers.items():
        assert len(ns) == 2 and min(ns) > 0, (path, peer, ns)

# No malloc has less than call, PLT and return; the library's is known to be
# short, and what fills bins now and then is spread over many calls.
for path, peers in counts.items():
    for peer, figures in peers.items():
        assert len(figures) == 2 and min(figures) > 3, (path, peer, figures)
malloc, free = counts["64"]["konfiscator"]
assert malloc < 40 and free < 40, (malloc, free)
assert counts["calloc-64"]["konfiscator"][0] > malloc, counts
END
