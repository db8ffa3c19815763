#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that leaks, one that fragments its heap, one whose heap caches, one
# whose free memory is a sleeping thread's or in bins, one whose memory is elsewhere
# and one without fault are told apart, running and killed. One whose memory rises
# and falls does not leak, and one that ended with most of its blocks never freed
# them. What is not known of a killed one is said.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

heaps=$top_builddir/tests/cli/heaps

is_ready() {
	grep -q ready "$WORK/ready"
}

# start HOW: its pid in $pid, its stats file in $file
start() {
	rm -f "$WORK/in" "$WORK/ready"
	mkfifo "$WORK/in"
	KONFISCATOR_SAMPLE=16K run_under_exec "$heaps" "$1" \
		<"$WORK/in" >"$WORK/ready" 7>&- &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	exec 7>"$WORK/in"
	wait_for 300 is_ready || fail "$1 does not come to be ready"
	file=$(find "$WORK/stats" -name "heaps.$pid.*")
	[ -n "$file" ] || fail "$1 has no stats file"
}

end() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
	exec 7>&-
}

# asks ARG...: the answer in $WORK/answer
asks() {
	cli explain --format=json "$@" >"$WORK/answer" || fail "explain $*"
}

# of EXPRESSION: of the answer
of() {
	jq -r ".[0] | $1" "$WORK/answer"
}

# is VERDICT ARG...
is() {
	kf_verdict=$1
	shift
	asks "$@"
	[ "$(of .verdict)" = "$kf_verdict" ]
}

# says_is WHAT VERDICT ARG...: fail where it says another
says_is() {
	kf_what=$1
	shift
	is "$@" || fail "$kf_what is called $(of .verdict): $(of .why)"
}

# holds WHAT EXPRESSION
holds() {
	[ "$(of "$2")" = true ] || {
		cat "$WORK/answer"
		fail "$1: not $2"
	}
}

# The equations of the parts, whatever the verdict.
adds_up() {
	holds "$1" '.live_bytes + .rounding_bytes + .half_empty_bytes +
		.dirty_bytes + .unused_bytes + .metadata_bytes == .held_bytes'
	holds "$1" '([.sizes[].half_empty_bytes // 0] | add) -
		.half_empty_bytes | fabs <= 200000'
}

lived() {
	asks --watch=0 "$file"
	holds "leak" '.verdict == "growth" or .life_seconds < 1.5'
	[ "$(of '.life_seconds > 1.5')" = true ]
}

start leak
# on a machine that stops for a second it may take another look
wait_for 60 is leak --watch=1 -p "$pid" ||
	fail "the leak is called $(of .verdict): $(of .why)"
holds "leak" '.grown_bytes > 0 and .watched_seconds >= 1'
holds "leak" '.sizes[0].size_bytes == 256 and .sizes[0].grown_bytes > 0'
holds "leak" '.stacks[0].stack | test("leaky < ")'
holds "leak" '.stacks[0].mean_block_bytes == 256 and .stacks[0].grown_bytes > 0'
wait_for 60 lived || fail "the leak's clock stands still"
cp "$file" "$WORK/then"
# one that lives and has not grown for half of its life is known to stand still
stands_still() {
	is "in use" --watch=0 -p "$pid"
}
kill -STOP "$pid"
wait_for 300 stands_still || fail "what stands still is called $(of .verdict)"
holds "one that stands still" '.growing_seconds < .life_seconds * 0.76'
kill -CONT "$pid"
end
file=$WORK/then
# a history of ten seconds or more shows the leak
if [ "$(of '.life_seconds > 9')" != true ]; then
	says_is "the leak's file" growth "$file"
fi
asks "$file"
holds "leak" '.state == "dead" and .resident_bytes == null and
	.outside_bytes == null and .watched_seconds == null'
holds "leak" '.grown_bytes > 0 and .history_seconds > 1'
holds "leak" '.life_seconds > 1.5 and .growing_seconds > .life_seconds * 0.7'

start fragment
says_is "fragmentation" fragmentation --watch=0.2 -p "$pid"
adds_up fragment
holds "fragment" '.half_empty_bytes > 30e6 and .resident_bytes > 30e6'
holds "fragment" '.sizes[0].size_bytes == 256 and .sizes[0].slabs > 500'
# a sampled block may be alone on a page with guards
holds "fragment" '.sizes[0].filled_percent < 2 and ([.sizes[].live_blocks] | add) >= 2500'
holds "fragment" '.stacks[0].stack | test("fill < ")'
holds "fragment" '.stacks[0].half_empty_bytes > 20e6'
expect 0 cli explain --watch=0 -p "$pid"
prints "heaps ($pid, alive): fragmentation"
prints "fill < "
end
says_is "fragmentation's file" fragmentation "$file"
holds "fragment" '.state == "dead" and .resident_bytes == null'
adds_up fragment
expect 0 cli explain "$file"
prints "heaps ($pid, dead): fragmentation"
prints "not known: the resident memory of the process, which has ended"

start asleep
says_is "a sleeping thread's" waiting --watch=0.2 -p "$pid"
adds_up asleep
holds "asleep" '.half_empty_bytes > 30e6 and .live_bytes < 1e6'
end

# 24 small sizes in steps of 16 to 128 and an eighth beyond, a page of blocks
# carved for each, of which a thread used one
start bins
asks --watch=0 -p "$pid"
adds_up bins
holds "bins" '.bins_bytes > 50 * 24 * 3000 and .bins_bytes < 50 * 24 * 4096'
kept=$(of .bins_bytes)
expect 0 cli explain --watch=0 -p "$pid"
prints "that threads mostly keep in their bins"
prints "of it in bins of threads"
prints "bins: threads keep"
asks_again() {
	echo >&7
	wait_for 300 said "$1" || fail "bins says ready less than $1 times"
	asks --watch=0 -p "$pid"
}
said() {
	[ "$(grep -c ready "$WORK/ready")" = "$1" ]
}
asks_again 2
holds "trimmed" ".bins_bytes > $kept - 100000"
asks_again 3
holds "ended" '.bins_bytes < 100000'
adds_up ended
end
equal "bins in stat" "$(of .bins_bytes)" \
	"$(cli stat -a -p "$pid" --format=json | jq '.[0].bins_bytes')"

start cache
says_is "cache" cache --watch=0.2 -p "$pid"
adds_up cache
# at most 14 MiB of it and half of what is live, less what the last purge took
holds "cache" '.dirty_bytes > 10e6 and .dirty_bytes < 18e6 and
	.resident_bytes > 10e6'
end
says_is "cache's file" cache "$file"

start outside
says_is "memory elsewhere" "not the heap" --watch=0.2 -p "$pid"
holds "outside" '.outside_bytes > 64e6 and .held_bytes < 8e6'
end
says_is "the file of one with memory elsewhere" "in use" "$file"

start steady
says_is "no fault" "in use" --watch=0.2 -p "$pid"
adds_up steady
holds "steady" '.live_bytes > 35e6'
expect 0 cli explain --watch=0 --format=csv
prints "heaps,$pid,alive,in use,"
end

# it has grown and shrunk once when it is ready, and goes on
start teeth
for watch in 0.1 0.2 0.1 0.3 0.1 0.2 0.1 1; do
	asks --watch=$watch -p "$pid"
	[ "$(of .verdict)" != leak ] ||
		fail "what rises and falls is called a leak: $(of .why)"
done
end

# a program that ends by itself, with all but a sixteenth of its blocks
run_under_exec "$heaps" lose &
ended=$!
wait "$ended" || fail "lose ends with $?"
lost=$(find "$WORK/stats" -name "heaps.$ended.*")
says_is "what was lost" "never freed" "$lost"
holds "lost" '.live_bytes >= 5625 * 240 and .live_bytes < 5625 * 260'
expect 0 cli explain "$lost"
prints " at its end, in 56"
prints " blocks that were never freed, 94% of the 1.4"
rm "$lost"

# several are a row each; what is asked wrongly is told
expect 0 cli explain -a -n heaps
equal "rows" 9 "$(wc -l <"$WORK/out")"
expect 3 cli explain -p "$pid"
says "explain: there is no process $pid; -a includes those that have ended"
expect 2 cli explain -p "$pid" "$file"
says "give a file or select a process, not both"
expect 2 cli explain --watch=-1 "$file"
says "explain: --watch: '-1' is not"
expect 1 cli explain "$WORK/stats/none"
says "no such file"
head -c 1000 "$file" >"$WORK/stats/short.1.x"
expect 1 cli explain "$WORK/stats/short.1.x"
says "short.1.x: the stats file is damaged"
