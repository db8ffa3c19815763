#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each round runs every peer once and begins with the next one. A run finds an
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

bench_planted --limit 600 >"$WORK/out" || fail "a run failed: $(cat "$WORK/out")"
# Prepared once for both tests; a warm-up and three rounds each.
equal "order of the runs" pgkkggkkggkkggkkg "$(cat "$WORK/log")"
equal "directories of sixteen runs" 16 \
	"$(sort -u "$WORK/log.directories" | wc -l)"
equal "what is left in TMPDIR" "" "$(ls "$TMPDIR")"
