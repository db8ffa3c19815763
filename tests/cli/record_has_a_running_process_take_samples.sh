#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# record -p of a process that takes no samples has it take them, at the distance
# that is asked for, and as before when it is done; where that cannot be there is
# one line, and no profile. A profile without samples says so.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"
cd "$WORK"

cat >busy.py <<'END'
import sys, time
kept = []
print("ready", flush=True)
while True:
    kept.append(bytearray(300000))
    kept.append([b"%d" % i for i in range(1000)])
    del kept[:-40]
    time.sleep(0.005)
END

is_ready() {
	grep -q ready ready
}
# begin VARIABLE=VALUE...
begin() {
	: >ready
	run_under_exec env PYTHONMALLOC=malloc "$@" "$PYTHON3" busy.py >ready &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	wait_for 60 is_ready || fail "the program did not start"
}

begin
expect 0 cli record -p "$pid" -o usual --duration 2
says "takes a sample in 524288 bytes"
expect 0 cli report --view=top usual
! grep -q "no samples" "$WORK/err" || fail "the profile has no samples"
"$KF_CLI" report --view=summary --format=json usual >sum
grep -q '"ended": "no"' sum || fail "a process that lives has ended: $(cat sum)"
expect 0 cli ctl "$pid" sample=64K
expect 0 cli record -p "$pid" -o theirs --duration 0.5
! grep -q "takes" "$WORK/err" || fail "samples were ordered: $(cat "$WORK/err")"
expect 0 cli record -p "$pid" --sample=16K -o finer --duration 0.5
says "takes a sample in 16384 bytes"
# the distance is that of before: nothing is ordered by this
expect 0 cli record -p "$pid" --sample=64K -o same --duration 0.2
! grep -q "takes" "$WORK/err" || fail "it was not set back: $(cat "$WORK/err")"
kill -9 "$pid"

# no samples can be taken: one line, and no file
begin KONFISCATOR_ENGINE=tlsf
expect 1 cli record -p "$pid" -o none --duration 0.2
says "takes no samples, and the order to start failed: "
equal "lines" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
[ ! -e none ] || fail "there is a profile of it"
equal "files left" "" "$(find . -name 'none*')"
kill -9 "$pid"

# a program that allocates less than a sample stands for
expect 0 cli record --sample=1T -o empty -- true
expect 0 cli report empty
says "empty has no samples"
