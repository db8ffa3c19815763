#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A recording of sqlite3 is made once, kept, and replayed under each allocator;
# the replay of a recording of 64 MiB takes little memory beside the heap.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir
needs sqlite3 sqlite3

replays() {
	"$PYTHON3" "$top_srcdir/bench/replays.py" --build "$top_builddir" \
		--library "$KF_LIB" --rounds 1 --only replay-sqlite3 \
		--recordings "$WORK/recordings" --peers glibc,konfiscator \
		--json "$WORK/json" --markdown "$WORK/md" ||
		fail "replays.py ended with $?"
	equal "rows" 2 "$(grep -c '^| replay-sqlite3 |' "$WORK/md")"
}

kept() {
	find "$WORK/recordings/replay-sqlite3" -type f -exec stat -c '%n %s %Y' {} +
}

replays
first=$(kept)
equal "recordings of one process" 1 "$(echo "$first" | wc -l)"
peak=$(sed -n 's/.*"peak_bytes": \([0-9]*\).*/\1/p' "$WORK/json" | head -n 1)
[ "$peak" -gt 20000000 ] || fail "the heap of sqlite3 had $peak bytes"
replays
equal "recordings after another run" "$first" "$(kept)"

"$PYTHON3" "$top_srcdir/bench/large-recording.py" --build "$top_builddir" \
	--size 64 --dir "$WORK" >"$WORK/large" || fail "$(cat "$WORK/large")"
beyond=$(sed -n 's/^beyond the heap *\([0-9]*\).*/\1/p' "$WORK/large")
[ "$beyond" -lt 64 ] || fail "$(cat "$WORK/large")"
