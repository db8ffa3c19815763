#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What record --events --compress leaves is a file of zstd, with all that was
# recorded; the command reads such files of any maker, and tells where one ends
# too early.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs zstd zstd
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

cd "$WORK"
cli record --help | grep -q -e --compress || fail "no --compress"
status=0
cli record --events --compress -o none -- true >out 2>err || status=$?
if grep -q "built without libzstd" err; then
	equal "status" 2 "$status"
	skip "built without libzstd"
fi

record() {
	"$KF_CLI" record --events --compress -o "$@" >out 2>err
}

# compressed FILE: and nothing else is left
compressed() {
	[ ! -e "$1" ] || fail "$1 is there as well"
	zstd -dqf "$1.zst" -o "$1.plain" || fail "zstd does not read $1.zst"
	replay "$1.plain"
	is anomalies 0
	is torn 0
	is unknown 0
}

# The program, its status, and its children, each in a file of its own.
record heap -- "$exchange" 4 5000 || fail "$(cat err)"
grep -q "heap: 1 recording compressed: [0-9.]*Ki of [0-9.]*Ki" err || fail "$(cat err)"
compressed heap
[ "$(wc -c <heap.zst)" -lt "$(wc -c <heap.plain)" ] ||
	fail "$(wc -c heap.zst heap.plain)"
equal "mode" 600 "$(stat -c %a heap.zst)"
for view in summary timeline anomalies; do
	"$KF_CLI" report --view=$view heap.plain >want
	"$KF_CLI" report --view=$view heap.zst >got 2>err || fail "$(cat err)"
	cmp want got || fail "$view differs"
	equal "what report warns of" "" "$(cat err)"
done
"$KF_CLI" --format=json replay heap.zst >got || fail "replay of heap.zst"
grep -q '"failed_calls": 0' got || fail "$(cat got)"
status=0
record kin -- sh -c "'$exchange' 1 100 & '$exchange' 1 100; wait; exit 7" ||
	status=$?
equal "status" 7 "$status"
equal "recordings of two programs of a shell" 2 "$(for f in kin*.zst; do
	"$KF_CLI" report "$f" | grep '^program *exchange'; done | wc -l)"

# One that a process still writes to stays as it is.
mkfifo end
"$KF_CLI" record --events --compress -o left -- \
	sh -c "'$exchange' 2 0 <end >/dev/null 2>&1 & sleep 1" >out 2>err &
pid=$!
exec 3>end
wait "$pid" || fail "$(cat err)"
exec 3>&-
grep -q "left.*: not compressed: a process still writes to it" err ||
	fail "$(cat err)"

# Signals reach the program.
"$KF_CLI" record --events --compress -o ended -- sh -c \
	'trap "exit 9" TERM; echo ready >now; while :; do sleep 0.1; done' \
	>out 2>err &
pid=$!
wait_for 60 test -s now || fail "the program did not start"
kill "$pid"
status=0
wait "$pid" || status=$?
equal "status of a program that was told to end" 9 "$status"

# Files of other makers, in several frames too; cut, damaged, foreign ones.
{ head -c 100000 heap.plain | zstd -q -9
	tail -c +100001 heap.plain | zstd -q --no-check; } >frames.zst
"$KF_CLI" report heap.plain >want
"$KF_CLI" report frames.zst >got || fail "two frames"
cmp want got || fail "two frames differ"
for kf_cut in 0 3 10 1000; do
	head -c $(($(wc -c <heap.zst) - kf_cut - 1)) heap.zst >cut.zst
	"$KF_CLI" report cut.zst >got 2>err || fail "cut: $(cat err)"
	grep -q "cut.zst: the compressed file is damaged: it ends after" err ||
		fail "cut by $kf_cut: $(cat err)"
done
echo "no recording at all" | zstd -q >foreign.zst
expect 1 cli report foreign.zst
says "foreign.zst: neither a recording nor a profile"
head -c 20 heap.zst >short.zst
expect 1 cli report short.zst
says "short.zst"
expect 2 cli record --compress -- true
says "--compress is for --events"

# A disk that is too small is named.
TMPDIR=/nowhere expect 1 cli report heap.zst
says "cannot create a file in /nowhere"
