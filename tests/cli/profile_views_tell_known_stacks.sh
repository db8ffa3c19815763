#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The views of a profile, and of a stats file, tell what is known of a process'
# stacks: amounts with their 95 % interval, by function, line, library, tag and
# thread, for a time, for a filter; a file of history keeps its own views.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64 boot
stacks cache 90000000 60000000 4096 work
stacks inlined 8000000 1000000 512

# field N of the first row of a CSV
first() {
	kf_field=$1
	shift
	"$KF_CLI" --format=csv report "$@" 2>err | sed -n 2p | cut -d, -f"$kf_field"
}

# straight from the stats file
equal "the most live" 30000000 "$(first 1 stats/mkstacks.1)"
equal "its function" cache "$(first 6 stats/mkstacks.1)"
equal "the most live by tag" work "$(first 6 --group=tag stats/mkstacks.1)"
equal "by library" mkstacks "$(first 6 --group=lib stats/mkstacks.1)"
equal "all by thread" 57000000 "$(first 1 --group=thread stats/mkstacks.1)"
equal "allocated" 90000000 "$(first 1 --metric=alloc stats/mkstacks.1)"
equal "blocks" 312500 "$(first 1 --metric=count stats/mkstacks.1)"
equal "live blocks" 312500 "$(first 1 --metric=blocks stats/mkstacks.1)"
equal "blocks' function" leaky "$(first 6 --metric=count stats/mkstacks.1)"
first 6 --group=line stats/mkstacks.1 | grep -q "^cache .*mkstacks.c:[0-9]" ||
	fail "no line"
equal "filtered" leaky "$(first 6 --filter='^bo+t$' stats/mkstacks.1)"
equal "filtered by an inlined call" 7000000 \
	"$(first 1 --filter=inmost stats/mkstacks.1)"
report --rows=0 stats/mkstacks.1 | grep -q "inmost  *outer < take_frames" ||
	fail "the inlined call and its caller are not told"

# 1.96 * sqrt(n * w * (w - S)) with w near 512 KiB: 114 samples of 64 bytes
error=$(first 2 --filter=leaky stats/mkstacks.1)
if [ "$error" -lt 6200000 ] || [ "$error" -gt 6500000 ]; then
	fail "20000000 +- $error is not the 95 % interval"
fi

# a file without ages
report --view=ages stats/mkstacks.1 | grep -q "no ages: .* older version" ||
	fail "it is not told that there are no ages"

# a profile of two times
"$KF_CLI" --dir=stats record -p "$pid" -o prof --interval 0.1 7>&- 8<&- 2>err &
recorder=$!
wait_for 60 test -s prof || fail "the recorder wrote nothing"
stacks leaky 50000000 0 64 boot
stacks_end
wait $recorder || fail "the recorder failed"
equal "the most live at the end" 50000000 "$(first 1 prof)"
equal "the most live at first" 30000000 "$(first 1 --at=0 prof)"
equal "the first leak" 30000000 "$(first 3 --view=leaks prof)"
first 7 --view=leaks prof | grep -q "^leaky < take_frames" || fail "no stack"
report --view=tree prof >out
grep -q " all$" out || fail "the tree has no root: $(cat out)"
grep -q " [0-9.]*%      *leaky$" out || fail "the tree has no leaky: $(cat out)"
report --view=timeline prof | sed -n 2p | grep -q "54.4Mi" ||
	fail "the timeline does not begin with 54.4 MiB"
expect 2 "$KF_CLI" report --view=sizes prof
says "'sizes' is a view of recordings, but this is a profile"
expect 2 "$KF_CLI" report --from=1 prof
says "--from is for recordings, but this is a profile"
# nothing matches: a line, no output, status 3
for how in "" --view=tree --leaks "-o none.svg"; do
	# shellcheck disable=SC2086
	expect 3 "$KF_CLI" report $how --filter=nothing_is_so prof
	says "report: --filter: nothing in prof matches 'nothing_is_so'"
	[ ! -s "$WORK/out" ] || fail "nothing is shown: $(cat "$WORK/out")"
done
[ ! -e none.svg ] || fail "there is a picture of nothing"
expect 3 "$KF_CLI" diff --filter=nothing_is_so prof prof
says "diff: --filter: nothing in prof and prof matches 'nothing_is_so'"
expect 0 "$KF_CLI" diff --filter=leaky prof prof
expect 2 "$KF_CLI" report --filter='(' prof
says "'(' is not a regular expression"
expect 2 "$KF_CLI" report -o prof.x prof
says "does not end in one of .pb.gz, .folded"

"$top_builddir/tests/fixture/mkrecording" history \
	<"$top_srcdir/tests/cli/report.script"
expect 0 "$KF_CLI" report history
expect 2 "$KF_CLI" report --view=tree history
says "--view=tree is for profiles"
expect 2 "$KF_CLI" report --view=ages history
says "--view=ages is for profiles"
expect 2 "$KF_CLI" report --metric=peak history
says "--metric is for profiles"

# A program without a table of its units' addresses, as clang makes them.
needs objcopy binutils
exec 8<&-
rm orders answers stats/mkstacks.1
objcopy --remove-section .debug_aranges "$top_builddir/tests/fixture/mkstacks" \
	bare
mkstacks=$WORK/bare
stacks_begin
stacks cache 90000000 60000000 4096 work
stacks inlined 8000000 1000000 512
first 6 --group=line stats/mkstacks.1 | grep -q "^cache .*mkstacks.c:[0-9]" ||
	fail "no line without a table of addresses"
report --rows=0 stats/mkstacks.1 | grep -q "inmost  *outer < take_frames" ||
	fail "no inlined call without a table of addresses"
