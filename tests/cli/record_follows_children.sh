#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A profile has what the children of a program allocate, by fork and by exec, to
# the block: those that are killed, that end at once or that are nobody's child
# any more. What a child has from its parent counts once.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
unset KONFISCATOR_KEEP
cd "$WORK"
ln -s "$top_builddir/tests/cli/kin" kin
KIN=$WORK/kin

# recorded ARG... -- PROG...: every block, and each that is freed
recorded() {
	rm -f p note* go
	expect "${status:-0}" cli record --exact -o p "$@"
}
# bytes METRIC FUNCTION [ARG...]: below the function, in thousands of 50000
bytes() {
	metric=$1
	function=$2
	shift 2
	"$KF_CLI" report -q --rows=0 --format=json --metric="$metric" "$@" p |
		jq --arg name "$function" \
			'[.[] | select(.group == $name).with_called] | add // 0'
}
# blocks N WHAT METRIC FUNCTION [ARG...]
blocks() {
	wanted=$(($1 * block))
	what=$2
	shift 2
	equal "$what" "$wanted" "$(bytes "$@")"
}
# processes: the names of those with samples
processes() {
	"$KF_CLI" report -q --rows=0 --no-header --format=csv \
		--group=process --metric=alloc p | cut -d, -f6 | sort
}
needs jq jq

recorded --no-follow -- "$KIN" hold 100
block=$(($(bytes alloc held) / 100))
[ "$block" -ge 50000 ] || fail "a block has $block bytes"

# by exec
recorded -- sh -c "'$KIN' hold 100; '$KIN' hold 200 & wait"
says "the profile includes 2 other processes"
blocks 300 "blocks of two programs" alloc held
blocks 300 "what they left" live held
equal "processes" 2 "$(processes | grep -c '^"*kin (')"
pid=$(processes | sed -n 's/.*kin (\([0-9]*\)).*/\1/p' | head -n 1)
two=$(bytes alloc held "--process=$pid")
[ "$two" = $((100 * block)) ] || [ "$two" = $((200 * block)) ] ||
	fail "process $pid has $two bytes"
blocks 300 "both by name" alloc held --process='k?n'
expect 3 "$KF_CLI" report --process=nobody p
says "report: --process: 'nobody' is neither the pid nor the name of a process"

recorded --no-follow -- sh -c "'$KIN' hold 100; true"
blocks 0 "blocks of nobody" alloc held

# by fork: the blocks of the parent are its own, whatever children free of them
recorded -- "$KIN" hold 50 fork 4 10 hold 20
says "the profile includes 4 other processes"
blocks 80 "blocks of children" alloc held_by_child
blocks 130 "all blocks" alloc held
blocks 80 "what the children left" live held_by_child
blocks 130 "what all of them left" live held
blocks 130 "the peaks of all" peaks held
expect 0 "$KF_CLI" report p
says "report: 5 processes are added up; --group=process tells them apart"

# a program that is replaced leaves nothing
recorded -- "$KIN" hold 40 note note wait go exec hold 30 &
recorder=$!
wait_for 60 test -e note
sleep 1.5
touch go
wait "$recorder"
blocks 70 "blocks of two programs of a process" alloc held
blocks 30 "what the last one left" live held

# killed, and short
recorded -- sh -c "'$KIN' hold 100 note note wait go & until [ -e note ]
	do sleep 0.1; done; kill -9 \$!; wait; '$KIN' hold 10"
blocks 110 "blocks of a program that was killed" alloc held
cat >short <<'END'
i=0
while [ $i -lt 200 ]; do
	"$1" hold 5
	i=$((i + 1))
done
END
recorded -- sh short "$KIN"
says "the profile includes 200 other processes"
blocks 1000 "blocks of 200 programs" alloc held

# one that nobody waits for has what it had when the program ended
recorded -- sh -c "'$KIN' apart hold 60 note note wait go
	until [ -e note ]; do sleep 0.1; done; '$KIN' hold 10"
says "1 other process still runs"
touch go
blocks 70 "blocks of a program and a daemon" alloc held
blocks 70 "what there is of both" live held

# an environment without the library
recorded -- sh -c "env -i '$KIN' hold 100; '$KIN' hold 10"
blocks 10 "blocks of a program under the library" alloc held

# a status is the program's own
status=7
recorded -- sh -c "'$KIN' hold 10; exit 7"
status=0
blocks 10 "blocks of a program that failed" alloc held

# konfiscator run: a report of the program is of its children too
"$KF_CLI" --dir="$WORK/stats" run --sample=1 -- sh -c \
	"echo \$\$ >pid; '$KIN' hold 100; '$KIN' hold 200; exit 0"
cli report -q -a --format=json --group=process --metric=alloc "$(cat pid)" >of
equal "children of a program that was run" 2 \
	"$(jq '[.[] | select(.group | startswith("kin"))] | length' of)"
"$KF_CLI" --dir="$WORK/stats" run --no-follow --sample=1 -- sh -c \
	"echo \$\$ >pid; '$KIN' hold 100; exit 0"
cli report -q -a --format=json --group=process --metric=alloc "$(cat pid)" >of
equal "children that nobody follows" 0 \
	"$(jq '[.[] | select(.group | startswith("kin"))] | length' of)"

# of a process that runs: children that it has from now on, if that is asked for
follow() {
	rm -f p note go
	run_under_exec "$KIN" hold 50 note note serve go fork 2 0 hold 20 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	wait_for 60 test -e note
	cli record -p "$pid" --sample=1 "$@" -o p 2>err &
	recorder=$!
	wait_for 60 test -s p || fail "nothing is recorded: $(cat err)"
	touch go
	wait "$recorder" || fail "the recorder failed: $(cat err)"
}
follow --follow
blocks 40 "blocks of children of a process that ran" alloc held_by_child
follow
blocks 0 "blocks of children that nobody follows" alloc held_by_child

# one that does not allocate takes one order after the other when it does
rm -f p note go went
run_under_exec "$KIN" hold 5 note note wait go serve went fork 2 0 hold 20 &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
wait_for 60 test -e note
cli record -p "$pid" --sample=1 --follow --interval=0.1 -o p 2>err &
recorder=$!
wait_for 60 test -s p || fail "nothing is recorded: $(cat err)"
family() {
	cli ctl --format=json "$pid" |
		jq -r '.[] | select(.setting == "family").now'
}
equal "family before the first order" 0 "$(family)"
touch go
has_family() {
	[ "$(family)" != 0 ]
}
wait_for 60 has_family || fail "it has no family: $(cat err)"
touch went
wait "$recorder" || fail "the recorder failed: $(cat err)"
blocks 40 "blocks of children of a process that slept" alloc held_by_child
expect 2 cli ctl $$ family=many
says "ctl: family: 'many' is not a number from 0 to 4294967295"
