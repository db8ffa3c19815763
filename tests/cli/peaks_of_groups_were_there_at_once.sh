#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The peak of a group is what its stacks had at the peak of the program. Where
# no snapshot was near to that, there are only the stacks' own peaks, and each
# view calls their sum an upper bound.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
needs jq jq

cd "$WORK"
HEAPS=$top_builddir/tests/cli/heaps
MIB=1048576

# about WHAT MIB VALUE: blocks of 256 KiB are all samples, in the recording
about() {
	[ "$3" -ge $(($2 * MIB)) ] || fail "$1: $3, less than $2 MiB"
	[ "$3" -le $(($2 * MIB * 102 / 100)) ] || fail "$1: $3, more than $2 MiB"
}

# column KEY FILE ARG...: of main(), or of the function or stack $name
column() {
	kf_key=$1
	shift
	"$KF_CLI" --format=json report "$@" 2>err |
		jq -r ".[] | select(.group == \"$name\") | .$kf_key"
}

mkfifo orders answers
exec 7<>orders 8<>answers
cli record -o turns --sample 16K --interval 0.1 -- "$HEAPS" turns \
	<orders >answers 7>&- 8>&- 2>err &
recorder=$!
at_exit "kill $recorder 2>/dev/null"
size() {
	stat -c %s turns 2>/dev/null || echo 0
}
grown() {
	[ "$(size)" -gt "$kf_before" ]
}
for _ in first second third; do
	read -r kf_answer <&8
	equal "the program" ready "$kf_answer"
	# the snapshot that comes may be older, and is behind its names
	for _ in 1 2 3 4; do
		kf_before=$(size)
		wait_for 60 grown || fail "the recorder takes no snapshots"
	done
	echo >&7
done
wait $recorder || fail "the recording failed: $(cat err)"

name=turn_second
about "the second function" 30 "$(column peak_bytes turns)"
name=main
about "its caller" 30 "$(column with_called turns)"
grep -q "report: live bytes at [0-9.]* s, the largest of [0-9]* snapshots, because the program had ended" err ||
	fail "it is not said: $(cat err)"
for name in turn_first turn_third; do
	equal "$name at the peak" 0 "$(column peak_bytes turns)"
done
name=main
about "own peaks" 60 "$(column with_called --metric=peaks turns)"
grep -q "sum of the stacks' own peaks, an upper bound" err ||
	fail "it is not said: $(cat err)"
name=turn_third
about "the third function's own" 20 "$(column own_peaks_bytes --metric=peaks turns)"

# each view and format has the same
"$KF_CLI" --format=json report --view=tree turns 2>err | jq '.[0].value' >tree
about "the tree" 30 "$(cat tree)"
grep -q "largest of" err || fail "it is not said: $(cat err)"
for format in folded svg html json csv speedscope.json firefox.json massif; do
	expect 0 "$KF_CLI" report --metric=peak -o "all.$format" turns
	says "the largest of"
done
about "folded stacks" 30 "$(awk '{ sum += $NF } END { print sum }' all.folded)"
grep -q "live at the peak 30" all.svg || fail "svg: $(grep 'process' all.svg)"
grep -q "live at the peak, estimated 30" all.html || fail "the page has another"
about json 30 "$(jq '[.sites[].peak] | add' all.json)"
about "json, own" 60 "$(jq '[.sites[].peaks] | add' all.json)"
about csv 30 "$(cut -d, -f3 all.csv | awk 'NR > 1 { sum += $1 } END { print sum }')"
jq '.profiles[.activeProfileIndex] | select(.name == "live at the peak") |
	.endValue' all.speedscope.json >speedscope
about speedscope 30 "$(cat speedscope)"
jq '.threads[] | select(.name == "live at the peak") | .samples.weight | add' \
	all.firefox.json >firefox
about firefox 30 "$(cat firefox)"
grep -B4 "heap_tree=peak" all.massif | sed -n 's/^mem_heap_B=//p' >massif
about massif 30 "$(cat massif)"

# until an earlier time it is another
"$KF_CLI" --format=csv report --view=timeline turns >timeline 2>err
awk -F, 'NR > 1 && $4 > 15000000 { exit } NR > 1 { at = $1 } END { print at }' \
	timeline >early
name=turn_first
about "the first alone" 10 "$(column peak_bytes --metric=peak --at="$(cat early)" turns)"

# without a snapshot near to the peak there is none, and that is said
expect 0 cli record -o short --sample 16K -- "$HEAPS" turns </dev/null
expect 0 "$KF_CLI" report --format=csv short
prints "own_peaks_bytes,"
says "report: sum of the stacks' own peaks, an upper bound of the live bytes at any time, because the program had ended"
expect 0 "$KF_CLI" report --view=tree short
prints "OWN-PEAKS"
expect 1 "$KF_CLI" report --metric=peak short
says "--metric=peak: no snapshot in short was taken near the peak; --metric=peaks shows"
expect 0 "$KF_CLI" report -o short.json short
equal "peaks that are not known" true "$(jq 'all(.sites[]; has("peak") | not)' short.json)"
expect 0 "$KF_CLI" report -o short.svg short
grep -q "sum of the stacks' own peaks, an upper bound" short.svg ||
	fail "the picture does not say what it shows"
expect 1 "$KF_CLI" diff --metric=peak short turns
expect 0 "$KF_CLI" diff --fail-over=8M short turns
says "compared the stacks' own peaks"

# a process that runs: what it had before the only snapshot is not known
mkdir own
mkfifo in said
"$KF_CLI" run --dir own --sample 16K -- "$HEAPS" cache <in >said 2>err &
exec 5>in 6<said
read -r kf_answer <&6
expect 1 "$KF_CLI" report --metric=peak own/heaps.*
expect 0 "$KF_CLI" report --metric=peaks own/heaps.*
prints OWN-PEAKS
exec 5>&- 6<&-
