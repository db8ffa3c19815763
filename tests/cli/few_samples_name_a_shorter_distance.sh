#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where even the largest stack has an interval as large as its value, report and
# explain say so in a line, with the command that takes more samples; of enough
# samples, in JSON and in CSV nothing is said.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"
needs jq jq

cd "$WORK"
poor="there are few samples: the interval of each stack is as large as its value;"
unknown="not known: how much each stack has: there are too few samples;"
stacks_begin
stacks sample_mean=524288
stacks samples=6
stacks leaky 1100000 0 64 boot
stacks cache 1100000 0 4096 work
expect 0 "$KF_CLI" report stats/mkstacks.1
says "report: $poor konfiscator ctl $pid sample=32K takes at least 16 times as many"
expect 0 "$KF_CLI" report --view=leaks stats/mkstacks.1
says "$poor"
expect 0 "$KF_CLI" --format=json report stats/mkstacks.1
jq -e 'length > 0' out >json || fail "JSON: $(cat out)"
expect 0 "$KF_CLI" explain -w 0 stats/mkstacks.1
prints "$unknown konfiscator ctl $pid sample=32K takes at least 16 times as many"
[ "$(grep -c "few samples" out)" = 1 ] || fail "it is said again: $(cat out)"
expect 0 "$KF_CLI" --format=json explain -w 0 stats/mkstacks.1
jq -e '.[0].stacks | length == 2' out >json || fail "JSON: $(cat out)"

# shorter ones than 1K are not accepted, but each block
stacks sample_mean=8192
expect 0 "$KF_CLI" explain -w 0 stats/mkstacks.1
prints "$unknown konfiscator ctl $pid sample=1 samples every block"

# in a profile it is for the next recording
expect 0 cli record -p "$pid" -o few --duration 0.1
expect 0 "$KF_CLI" report few
says "report: $poor konfiscator record --sample=32K takes at least 16 times as many"

# the largest of them is known
stacks leaky 20000000 0 64 boot
expect 0 "$KF_CLI" report stats/mkstacks.1
! grep -q "few samples" err || fail "enough are called few: $(cat err)"
expect 0 "$KF_CLI" explain -w 0 stats/mkstacks.1
! grep -q "few samples" out || fail "enough are called few: $(cat out)"
stacks_end
