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
assert all(r["engines"] == "bpftrace,stap" for r in rows), rows
END

expect 1 env PATH=/no/such/dir "$KF_CLI" trace mmap
says "nothing here can trace"
expect 2 cli trace -p $$ mmap -- true
says "exclude each other"
expect 1 cli trace -p $$ mmap
says "does not run under konfiscator"
expect 127 cli trace mmap -- no-such-program

[ "$BPFTRACE" != none ] || skip "bpftrace is not installed"
[ "$(id -u)" = 0 ] || skip "tracing needs root"
readelf -n "$KF_LIB" 2>/dev/null | grep -q 'Provider: konfiscator' ||
	skip "the library has no probes (--disable-probes)"
timeout 60 "$BPFTRACE" -e 'BEGIN { exit(); }' >"$WORK/out" 2>&1 ||
	skip "bpftrace cannot trace here: $(tail -n 1 "$WORK/out")"

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
"$CC" -O0 -o "$WORK/main" "$WORK/main.c"
KONFISCATOR_SCRIPTS=$WORK/scripts
export KONFISCATOR_SCRIPTS
expect 0 cli trace list
prints "how many blocks are of this size?"

expect 5 cli trace count -- "$WORK/main"
prints "@n: 23"
if grep -q '^ready$' "$WORK/out"; then
	fail "the word between script and command is shown"
fi

# A process that runs already, by its pid.
mkfifo "$WORK/go"
"$KF_CLI" --dir="$WORK/stats" run -- "$WORK/main" wait <"$WORK/go" &
main=$!
exec 8>"$WORK/go"
at_exit "kill $main 2>/dev/null"
mapped() {
	grep -q libkonfiscator "/proc/$main/maps"
}
wait_for 60 mapped || fail "the program has no library"
"$KF_CLI" trace count -p "$main" >"$WORK/out" 2>"$WORK/err" &
tracer=$!
at_exit "kill $tracer 2>/dev/null"
wait_for 60 grep -q ready "$WORK/err" || fail "not ready: $(cat "$WORK/err")"
echo >&8
kf_rc=0
wait "$main" || kf_rc=$?
equal "status of the program" 5 "$kf_rc"
kill -INT "$tracer"
wait "$tracer" || fail "the tracer failed: $(cat "$WORK/err")"
prints "@n: 23"

# What bpftrace refuses ends the command, and the program never runs.
echo 'BEGIN { nonsense(); }' >"$WORK/scripts/bpftrace/broken.bt"
expect 1 cli trace broken -- touch "$WORK/ran"
says "could not attach"
[ ! -e "$WORK/ran" ] || fail "the program ran without its tracer"
