#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# trace lists the scripts; with bpftrace it starts the program once the script
# is ready, passes its output on, and ends as the program does.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

expect 0 cli trace list
prints konfiscator
expect 0 cli --format=json trace list
"$PYTHON3" - "$WORK/out" <<'END' || fail "a script has no question"
import json, sys
rows = json.load(open(sys.argv[1]))
assert {r["name"] for r in rows} >= {"konfiscator", "malloc", "frag", "mmap"}
assert all(r["question"].endswith("?") for r in rows), rows
assert [r["engines"] for r in rows if r["name"] == "mapped"] == ["bpftrace"]
assert all(r["engines"] == "bpftrace,stap" for r in rows
           if r["name"] not in ("prometheus", "mapped")), rows
END

expect 1 env PATH=/no/such/dir "$KF_CLI" trace mmap
says "neither bpftrace nor SystemTap is installed"
expect 2 cli trace -p $$ mmap -- true
says "exclude each other"
expect 1 cli trace -p $$ mmap
says "does not run under konfiscator"
expect 127 cli trace mmap -- no-such-program

[ "$BPFTRACE" != none ] || skip "bpftrace is not installed"
[ "$(id -u)" = 0 ] || skip "tracing needs root"
readelf -n "$KF_LIB" 2>/dev/null | grep -q 'Provider: konfiscator' ||
	skip "the library has no probes (--disable-probes)"
may_trace() {
	timeout -s KILL 120 "$BPFTRACE" -e 'BEGIN { exit(); }' \
		>"$WORK/out" 2>&1
}
may_trace || may_trace || may_trace ||
	skip "bpftrace cannot trace here: $(tail -n 1 "$WORK/out")"

# bpftrace_failed: of itself, as the kernel refuses to load a program now and
# then while a processor is much in demand; then the command says so
bpftrace_failed() {
	grep 'bpftrace \(failed\|could not\|ended before\)' "$WORK/err"
}

# A script with a count that can be known: 23 blocks of 23 kB and a bit.
mkdir -p "$WORK/scripts/bpftrace"
cat >"$WORK/scripts/bpftrace/count.bt" <<'END'
// Question: how many
// blocks are of this size?
BEGIN { printf("ready\n"); }
usdt:$1:konfiscator:alloc /($2 == 0 || pid == $2) && arg1 == 23456/ { @n = count(); }
END
cat >"$WORK/main.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *volatile p;
	char byte;
	int i;

	if (argc > 1 && read(0, &byte, 1) != 1)
		return 9;
	for (i = 0; i < 23; i++) {
		p = malloc(23456);
		if (!p)
			return 1;
	}
	return 5;
}
END
compile -O0 -o "$WORK/main" "$WORK/main.c"
KONFISCATOR_SCRIPTS=$WORK/scripts
export KONFISCATOR_SCRIPTS
expect 0 cli trace list
prints "how many blocks are of this size?"

for try in 1 2 3 4 5; do
	kf_got=$(status_of cli trace count -- "$WORK/main")
	bpftrace_failed || break
	echo "trace again: this was try $try"
done
equal "status of the command" 5 "$kf_got"
prints "@n: 23"
if grep -q '^ready$' "$WORK/out"; then
	fail "the word between script and command is shown"
fi

# A process that runs already, by its pid.
mkfifo "$WORK/go"
mapped() {
	grep -q libkonfiscator "/proc/$main/maps"
}
tells() {
	grep -q '^konfiscator: trace: ' "$WORK/err"
}
trace_pid() {
	"$KF_CLI" --dir="$WORK/stats" run -- "$WORK/main" wait <"$WORK/go" &
	main=$!
	exec 8>"$WORK/go"
	wait_for 300 mapped || fail "the program has no library"
	"$KF_CLI" trace count -p "$main" >"$WORK/out" 2>"$WORK/err" &
	tracer=$!
	wait_for 300 tells || fail "not ready: $(cat "$WORK/err")"
	echo >&8
	kf_rc=0
	wait "$main" || kf_rc=$?
	main=
	equal "status of the program" 5 "$kf_rc"
	kill -INT "$tracer" 2>/dev/null || :
	kf_rc=0
	wait "$tracer" || kf_rc=$?
	tracer=
}
main=
tracer=
# shellcheck disable=SC2016 # what they are then
at_exit '[ -z "$main$tracer" ] || kill $main $tracer'
for try in 1 2 3 4 5; do
	trace_pid
	bpftrace_failed || break
	echo "trace again: this was try $try"
done
equal "status of the tracer" 0 "$kf_rc"
prints "@n: 23"

# What bpftrace refuses ends the command, and the program never runs.
echo 'BEGIN { nonsense(); }' >"$WORK/scripts/bpftrace/broken.bt"
expect 1 cli trace broken -- touch "$WORK/ran"
says "could not attach"
[ ! -e "$WORK/ran" ] || fail "the program ran without its tracer"
