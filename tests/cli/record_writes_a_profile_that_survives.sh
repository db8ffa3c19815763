#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A profile has the stacks, tags, threads and modules of a process; looks that
# find nothing new cost a snapshot's head; what a killed recorder left, and any
# part of it, can be read. A program that is recorded keeps its status.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64 boot
stacks cache 90000000 60000000 4096 work

size() {
	stat -c %s "$1" 2>/dev/null || echo 0
}
larger() {
	[ "$(size prof)" -gt "$1" ]
}
cli record -p "$pid" -o prof --interval 0.1 7>&- 8<&- 2>err &
recorder=$!
at_exit "kill -9 $recorder 2>/dev/null"
wait_for 60 larger 1000 || fail "the recorder wrote nothing"
# The names of the first look come behind it.
wait_for 60 larger "$(size prof)" || fail "the recorder looked once"
first=$(size prof)
wait_for 60 larger $((first + 87 * 3)) || fail "the recorder looked once"
grew=$((($(size prof) - first) % 88))
equal "bytes of a look that found nothing new, less heads" 0 "$grew"
stacks inlined 8000000 1000000 512
before=$(size prof)
wait_for 60 larger $((before + 300)) || fail "a new stack is not in the profile"
kill -9 $recorder
wait $recorder || true

report --view=leaks prof >out
grep -q "leaky < .*main" out || fail "no leaky: $(cat out)"
grep -q "work .*cache < " out || fail "no cache under work: $(cat out)"
grep -q "inmost < outer < " out || fail "no inlined call: $(cat out)"
report --view=summary prof | grep -q " no$" ||
	fail "the killed recorder's profile has an end"

# any part of it
whole=$(size prof)
for bytes in 0 7 100 520 900 $((whole - 300)) $((whole - 1)); do
	head -c "$bytes" prof >part
	kf_got=$(status_of "$KF_CLI" report part)
	[ "$kf_got" -le 1 ] || fail "$bytes bytes: status $kf_got"
done
expect 0 "$KF_CLI" report part
says "the end of the profile is missing"

# the page of a stats file says how long its process has run
expect 0 "$KF_CLI" report -o live.html stats/mkstacks.*
grep -q ', after [0-9.]*[1-9][0-9.]* s</p>' live.html ||
	fail "the page does not say how long it has run"

# to the process' end, and for a time
cli record -p "$pid" -o whole --interval 0.1 7>&- 8<&- 2>err &
recorder=$!
wait_for 60 test -s whole || fail "the second recorder wrote nothing"
expect 0 cli record -p "$pid" -o brief --duration 0.1
# by the usual name: anew, but not through a link, nor over another's file
usual=konfiscator.$pid.profile
echo mine >other
ln -s other "$usual"
expect 1 cli record -p "$pid" --duration 0.1
rm "$usual"
ln other "$usual"
expect 1 cli record -p "$pid" --duration 0.1
says "record: $usual: File exists"
equal "what others have" mine "$(cat other)"
rm "$usual"
echo before >"$usual"
expect 0 cli record -p "$pid" --duration 0.1
[ "$(head -c 6 "$usual")" != before ] || fail "$usual is the old one"
stacks_end
wait $recorder || fail "the recorder failed: $(cat err)"
grep -q "snapshot.* of process" err || fail "the recorder says nothing"
report --view=summary whole | grep -q " yes$" || fail "whole has no end"
report --view=summary brief | grep -q " no$" ||
	fail "brief has the end of a program that went on"

expect 0 "$KF_CLI" report -o ended.html stats/mkstacks.*
! grep -q ', after ' ended.html || fail "the page knows when a process ended"
grep -q "shows the bytes still live$" err || fail "it is said at what time: $(cat err)"

# of a program that ended what it had at its most, and it is said
expect 0 cli record --sample 16K -o freed -- "$top_builddir/tests/cli/heaps" cache
expect 0 "$KF_CLI" report --format=csv freed
says "because the program had ended; --metric=live shows the bytes still live"
grep -qE '^(own_peaks|peak)_bytes,' "$WORK/out" ||
	fail "the column is $(head -n 1 "$WORK/out")"
[ "$(sed -n 2p "$WORK/out" | cut -d, -f1)" -gt 30000000 ] ||
	fail "the peak is $(sed -n 2p "$WORK/out")"
expect 0 "$KF_CLI" report --format=csv --metric=live freed
prints "live_bytes,"
if grep -q "had ended" "$WORK/err"; then
	fail "a metric that was asked for is told"
fi
expect 0 "$KF_CLI" report --view=leaks freed
! grep -q "had ended" "$WORK/err" || fail "leaks tell of a metric"
expect 0 "$KF_CLI" report --at=0 prof
says "report: live bytes at"
prints "LIVE"

sleep 100 &
at_exit "kill $!"
expect 3 cli record -p $! -o none
says "runs without the library"
[ ! -s none ] || fail "a profile of nothing has bytes"
expect 3 cli record -p 999999999 -o none
expect 1 cli record -o no/such/file true
says "No such file"
expect 7 cli record -o run -- sh -c 'exit 7'
report --view=summary run | grep -q "^sh " || fail "sh is not in its profile"
# shellcheck disable=SC2016 # of the other shell
expect 0 cli record --python -o run -- \
	sh -c '[ "$PYTHONMALLOC" = malloc ]'
expect 2 cli record --python
says "record: --python needs PROG"
expect 127 cli record -o gone -- no-such-program
says "not found"
[ ! -e gone ] || fail "a profile of no program is there"
