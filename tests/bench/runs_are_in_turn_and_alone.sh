#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each round runs every peer once, glibc twice, and begins with the next one. A run finds an
# empty directory of its own, the prepared data, a stats directory, and nothing
# of what the user has set for allocators; nothing of it is left behind.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir
plant_suite

# The log holds one letter a run: p (prepare), g (glibc), k (the library).
plant_workload logs <<'END'
set -eu
log=$(cat "$LOG_IS_IN")
if [ "$1" = prepare ]; then
	[ -z "${LD_PRELOAD:-}" ]
	echo data >"$BENCH_DATA/file"
	printf p >>"$log"
	exit 0
fi
[ "$*" = "one two" ]
[ -z "$(ls)" ]
[ "$(cat "$BENCH_DATA/file")" = data ]
[ -d "$KONFISCATOR_DIR" ]
[ -z "${MALLOC_ARENA_MAX:-}${KONFISCATOR_PURGE_MS:-}" ]
echo "$PWD" >>"$log.directories"
: >left-behind
case ${LD_PRELOAD:-} in
'') printf g >>"$log" ;;
*) printf k >>"$log" ;;
esac
END
echo 'logs real logs one two' >"$SUITE/suite.txt"
echo 'again real logs one two' >>"$SUITE/suite.txt"
printf '%s\n' "$WORK/log" >"$WORK/where"
export LOG_IS_IN="$WORK/where" MALLOC_ARENA_MAX=1 KONFISCATOR_PURGE_MS=7

bench_planted --limit 600 --no-again >"$WORK/out" || fail "a run failed: $(cat "$WORK/out")"
# Prepared once for both tests; a warm-up and three rounds each.
equal "order of the runs" pgkkggkkggkkggkkg "$(cat "$WORK/log")"
equal "directories of sixteen runs" 16 \
	"$(sort -u "$WORK/log.directories" | wc -l)"
equal "what is left in TMPDIR" "" "$(ls "$TMPDIR")"

# By default glibc runs twice in a round, by turns with itself, and has a column
# for each; in other respects the second copy is no peer.
rm "$WORK/log"
bench_planted --limit 600 --only logs >"$WORK/out" ||
	fail "a run failed: $(cat "$WORK/out")"
equal "order of the runs with glibc twice" pggkgkgkggggk "$(cat "$WORK/log")"
grep -qx 'test  *glibc  glibc again  konfiscator  konfiscator/best' \
	"$WORK/out" || fail "the second copy has no column: $(cat "$WORK/out")"
grep -q '^logs .* glibc again$' "$WORK/out" &&
	fail "the second copy of glibc is the best peer"
grep -q '^wall: a test differs by ' "$WORK/out" || fail "no line of noise"
equal "refusal of a peer of that name" \
	"run.py: peer 'glibc again' has the name of the second copy of glibc" \
	"$(bench_planted --peer "glibc again=$KF_LIB" \
		--peers 'glibc,glibc again,konfiscator' 2>&1 >/dev/null)"
