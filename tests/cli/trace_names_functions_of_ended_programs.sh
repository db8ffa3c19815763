#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The scripts leaks and heap, run by konfiscator trace on a program that has
# ended when they print, name its functions; stacks that look alike are one row,
# with the sum, and what is freed is none. Of a program whose file is gone the
# module is named. Of all programs each that runs has its names.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
need_tracing
! is_sanitized || skip "a sanitizer puts frames of its own between malloc and its caller"
unset BPFTRACE_NO_USER_SYMBOLS

cat >"$WORK/main.c" <<'END'
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

static __attribute__((noinline)) void lose(void)
{
	block = malloc(1000);
	block = malloc(2000);
	block = malloc(300000);
	block = malloc(300000);
}

static __attribute__((noinline)) void pass(void)
{
	block = malloc(300000);
	free(block);
}

static __attribute__((noinline)) void lose_other(void)
{
	for (volatile int i = 0; i < 5; i++)
		block = malloc(300000);
}

int main(int argc, char **argv)
{
	lose();
	lose_other();
	lose();
	pass();
	if (argc > 2) {
		write(1, "lost\n", 5);
		sleep(1000);
	}
	sleep(2);
	if (argc > 1)
		unlink(argv[0]);
	return 7;
}
END
compile -O1 -g0 -fno-builtin -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -o "$WORK/main" "$WORK/main.c"

# rows FUNCTION: how many rows have it as the caller or first frame; their sum
rows() {
	awk -v name="$1" '
		/^@(bytes_held|live)\[/ {
			mine = $2 == name ","
			first = 1
			next
		}
		/^\]: / {
			if (mine) {
				nr++
				sum += $2
			}
			mine = 0
		}
		first {
			if ($1 == name)
				mine = 1
			first = 0
		}
		END { print nr + 0, sum + 0 }' "$WORK/out"
}

# trace SCRIPT [ARG]: what it prints in $WORK/out
trace() {
	script=$1
	shift
	for try in 1 2 3 4 5; do
		cp "$WORK/main" "$WORK/ends"
		kf_got=$(status_of cli trace "$script" -- "$WORK/ends" "$@")
		grep 'bpftrace \(failed\|could not\|ended before\)' \
			"$WORK/err" || break
		echo "trace again: this was try $try"
	done
	equal "$script: status of the program" 7 "$kf_got"
	! grep -q 'kf_\|libkonfiscator' "$WORK/out" ||
		fail "$script: frames of the library are shown"
}

trace leaks
equal "lost by lose" "1 $((2 * (1000 + 2000 + 600000)))" "$(rows lose)"
equal "lost by lose_other" "1 $((5 * 300000))" "$(rows lose_other)"
equal "rows of what is freed" "0 0" "$(rows pass)"
KONFISCATOR_SAMPLE=16K
export KONFISCATOR_SAMPLE
trace heap
rows lose_other | grep -q '^1 [1-9]' || {
	cat "$WORK/out"
	fail "heap has no row of lose_other"
}
unset KONFISCATOR_SAMPLE

# Of a file that is gone there are no names, and none of another file's.
trace leaks gone
equal "lost by lose, of no file" "0 0" "$(rows lose)"
grep -q "^@bytes_held\[[0-9]*, ends+0x[0-9a-f]*,$" "$WORK/out" || {
	cat "$WORK/out"
	fail "the module is not named"
}

# both_lost: whether both programs are where they stay
both_lost() {
	[ "$(grep -c lost "$WORK/said")" = 2 ]
}

# trace_all: what the script leaks prints of all programs, two of which stay
trace_all() {
	"$KF_CLI" --dir="$WORK/stats" trace leaks >"$WORK/out" 2>"$WORK/err" &
	tracer=$!
	at_exit "kill $tracer 2>/dev/null"
	wait_for 120 grep -q "ready, all programs are traced" "$WORK/err" ||
		fail "trace is not ready: $(cat "$WORK/err")"
	: >"$WORK/said"
	run_under_exec "$WORK/main" stay here >>"$WORK/said" &
	one=$!
	run_under_exec "$WORK/main" stay here >>"$WORK/said" &
	other=$!
	at_exit "kill $one $other 2>/dev/null"
	wait_for 60 both_lost || fail "the programs do not run"
	kill -TERM "$tracer"
	wait "$tracer" || echo "trace of all ended with $?"
	kill "$one" "$other"
}
for try in 1 2 3 4 5; do
	trace_all
	grep 'bpftrace \(failed\|could not\|ended before\)' "$WORK/err" || break
	echo "trace again: this was try $try"
done
equal "lost by lose of both" "2 $((4 * (1000 + 2000 + 600000)))" "$(rows lose)"
equal "lost by lose_other of both" "2 $((10 * 300000))" "$(rows lose_other)"
[ -n "$(tail -n 1 "$WORK/out")" ] || fail "empty lines at the end"
