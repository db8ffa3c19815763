#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a program's slow paths did last is told: in order, by thread, while it
# runs and after it was killed; each kind of event comes where its probe fires.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
workdir
need_built

deeds=$top_builddir/tests/cli/deeds
export KONFISCATOR_ON_ERROR=count KONFISCATOR_REGION=2M KONFISCATOR_EVENTS=2000

# file_of PID
file_of() {
	ls "$WORK"/stats/deeds."$1".*
}

# kinds [ARG...]: of the last program, each once, in the order of the first
kinds() {
	cli --no-header --format=csv events "$@" | cut -d, -f4 | awk '!seen[$0]++' |
		tr '\n' ' '
}

# in_order WORD... : each comes after the one before in $all
in_order() {
	rest=$all
	for word in "$@"; do
		case " $rest" in
		*" $word "*) rest=${rest#*"$word "} ;;
		*) fail "there is no $word behind the others in: $all" ;;
		esac
	done
}

for end in end kill fault; do
	status=0
	run_under_exec "$deeds" "$end" 2>/dev/null &
	pid=$!
	wait "$pid" 2>/dev/null || status=$?
	case $end,$status in
	end,0 | kill,137 | fault,139) ;;
	*) fail "deeds $end: status $status" ;;
	esac
	all=$(kinds "$(file_of "$pid")")
	equal "kinds of one thread after $end" \
		"map thread_start region_new refill trim" \
		"$(echo "$all" | cut -d' ' -f1-5)"
	in_order thread_start region_new trim fork out_of_memory invalid_free
	in_order trim purge
	in_order trim unmap
	in_order large_alloc large_free thread_end
done

file=$(file_of "$pid")
equal "of the worker" "thread_start large_alloc large_free unmap thread_end " \
	"$(kinds --thread=worker "$file" | sed 's/refill //; s/ map / /')"
tid=$(cli --no-header --format=csv events -t worker "$file" |
	sed -n '1s/^[^,]*,\([0-9]*\),.*/\1/p')
equal "by its number" "$(kinds -t worker "$file")" "$(kinds -t "$tid" "$file")"
equal "by kind" "fork invalid_free " "$(kinds -k fork,invalid_free "$file")"
equal "by name of the process" "$all" "$(kinds -a -p "$pid")"
cli --format=json events -k out_of_memory "$file" >"$WORK/json"
"${PYTHON3:-python3}" - "$WORK/json" <<'EOT' || fail "$(cat "$WORK/json")"
import json
import sys

event, = json.load(open(sys.argv[1]))
assert event["bytes"] == 2**45, event
assert event["address"] is None, event
assert event["time"].endswith("Z") and event["monotonic_ns"] > 0, event
EOT

# The child of a fork tells of itself alone.
child=$(for f in "$WORK"/stats/deeds.*; do
	kinds -k forked "$f" | grep -q forked && echo "$f"
done | tail -1)
equal "of a child" "forked large_alloc large_free " \
	"$(kinds "$child" | sed 's/refill //; s/ map / /')"

# What needs another engine, or the memory of a region.
KONFISCATOR_SECURE=1 KONFISCATOR_EVENTS=4096 run_under_exec \
	"$top_builddir/tests/cli/deeds" damage 2>/dev/null &
pid=$!
wait "$pid" || fail "deeds damage under the engine secure: $?"
equal "damage" "double_free corruption " "$(kinds -k corruption,double_free "$(file_of "$pid")")"

# While it runs, those to come too, and no longer than it does.
run_under_exec "$deeds" wait 2>/dev/null &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
loops() {
	[ "$(cli -q --no-header --format=csv events -k large_alloc -p "$pid" |
		wc -l)" -gt 3 ]
}
wait_for 60 loops || fail "a program that runs has no events"
cli --format=csv events --follow -k large_alloc,large_free -p "$pid" \
	>"$WORK/followed" &
follower=$!
grows() {
	[ "$(wc -l <"$WORK/followed")" -gt "$1" ]
}
wait_for 60 grows 3 || fail "nothing is followed"
wait_for 60 grows $(($(wc -l <"$WORK/followed") + 10)) ||
	fail "it does not go on"
kill -9 "$pid"
wait "$follower" || fail "--follow ends with status $?"
[ "$(grep -c '^time' "$WORK/followed")" = 1 ] || fail "more than one header"
[ -z "$(sort -t, -k7n "$WORK/followed" | uniq -d)" ] ||
	fail "events are told twice"

# Without events there is nothing, and no room is taken for it.
run_under env KONFISCATOR_EVENTS=0 true
expect 2 cli events -k large_alloc,nothing "$file"
says "'nothing' is not one of refill region_new"
expect 2 cli events -p 1 "$file"
says "give a file or select a process, not both"
expect 1 cli events "$deeds"
says "not a stats file"
: >"$WORK/empty"
expect 1 cli events "$WORK/empty"
says "the stats file is incomplete: its process is starting, or was killed"
