#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# explain tells which functions mapped memory past malloc, and how much of it is
# resident as smaps has it: in threads, in a forked child, after parts were
# unmapped, moved or replaced, for python's mmap, and for what was killed. Calls
# that fail fail as without the library, and without samples nothing is noted.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
maps=$top_builddir/tests/cli/maps

begin() {
	rm -f "$WORK/in" "$WORK/said"
	mkfifo "$WORK/in"
	run_under_exec "$@" <"$WORK/in" >"$WORK/said" 2>"$WORK/err" 7>&- &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	exec 7>"$WORK/in"
	wait_for 120 grep -q "^ready" "$WORK/said" || fail "$*: not ready"
}

finish() {
	exec 7>&-
	wait "$pid" || fail "the program ended with status $?"
}

explains() {
	expect 0 cli explain -w 0 --format=json "$@"
	cp "$WORK/out" "$WORK/json"
}

# of FUNCTION WHAT: the sum of a column over the stacks with a function
of() {
	jq "[.[0].mappings[] | select(.stack | split(\" < \") |
		any(. == \"$1\" or startswith(\"$1 (\"))) | .$2] | add // 0" "$WORK/json"
}

# anonymous PID: bytes of mappings without a name that smaps has, of 64 KiB and
# more
anonymous() {
	awk '/^[0-9a-f]+-[0-9a-f]+ /{ mine = NF == 5 }
		/^Rss:/ && mine && $2 >= 64 { sum += $2 }
		END { printf "%.0f\n", sum * 1024 }' "/proc/$1/smaps"
}

MIB=1048576
KONFISCATOR_SAMPLE=1M
export KONFISCATOR_SAMPLE
begin "$maps"
wait_for 120 grep -q "^child" "$WORK/said" || fail "no child"
explains -p "$pid"
for row in map_hole=10 map_moved=6 map_in_thread=12; do
	equal "resident of ${row%=*}" $((${row#*=} * MIB)) \
		"$(of "${row%=*}" resident_bytes)"
done
equal "mapped by map_hole" $((20 * MIB)) "$(of map_hole mapped_bytes)"
equal "left of map_replaced" $((2 * MIB - 32768)) \
	"$(of map_replaced resident_bytes)"
for gone in map_untouched map_and_unmap map_in_handler; do
	equal "$gone" 0 "$(of "$gone" mapped_bytes)"
done
# What smaps has besides is in the handler's mapping, and the library's.
noted=$(jq '[.[0].mappings[].resident_bytes] | add' "$WORK/json")
all=$(($(anonymous "$pid") - MIB))
equal "noted $noted of $all" 1 $((noted <= all && noted * 50 >= all * 49))
expect 0 cli explain -w 0 -p "$pid"
grep -A1 "^RESIDENT  *MAPPED  *STACK" "$WORK/out" | grep -q "12.0Mi .* < map_in_thread < " ||
	fail "the first row is another: $(cat "$WORK/out")"
prints " are not in these mappings: "
[ "$(cli stat --format=json -p "$pid" | jq '.[0].mappings_missed')" -gt 0 ] ||
	fail "what the signal handler mapped is not counted as missed"

# A child has its parent's, and its own.
child=$(sed -n 's/^child //p' "$WORK/said")
explains -p "$child"
equal "the child's own and its parent's" $((12 * MIB)) \
	"$(of map_moved resident_bytes)"

# What was killed tells how much it had mapped.
file=$(find "$WORK/stats" -name "*.$child.*")
kill -9 "$child"
finish
explains "$file"
equal "killed: resident" null "$(jq '.[0].mappings[0].resident_bytes' "$WORK/json")"
equal "killed: mapped" $((512 * MIB)) "$(of map_untouched mapped_bytes)"
equal "killed: moved" $((12 * MIB)) "$(of map_moved mapped_bytes)"
expect 0 cli explain "$file"
prints "mapped: past malloc, by these stacks, when the process ended"

# Python maps its arenas, and what a program asks for.
begin "$PYTHON3" -c '
import mmap, sys
def keep(size):
    m = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, 4096):
        m[at] = 1
    return m
kept = keep(32 << 20)
print("ready", flush=True)
sys.stdin.read()'
explains -p "$pid"
equal "python: resident" $((32 * MIB)) "$(of keep resident_bytes)"
finish

# Without samples nothing is noted, and how to know is told.
KONFISCATOR_SAMPLE=0
begin "$maps"
explains -p "$pid"
equal "without samples" 0 "$(jq '.[0].mappings | length' "$WORK/json")"
equal "without samples: missed" 0 \
	"$(cli stat --format=json -p "$pid" | jq '.[0].mappings_missed')"
expect 0 cli explain -w 0 -p "$pid"
prints "konfiscator trace mapped -p $pid"
finish

# A call that fails says the same.
"$maps" errors >"$WORK/without"
for KONFISCATOR_SAMPLE in 0 1M; do
	run_under "$maps" errors >"$WORK/with"
	diff "$WORK/without" "$WORK/with" || fail "calls fail otherwise"
done
