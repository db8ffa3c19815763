#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs of the distribution that run unprepared are sampled by an order: each
# of their stacks is whole, from what started them, main's part among it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs /usr/bin/python3 python3
needs /usr/bin/perl perl
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"

# Both are busy until there is a line, and then keep 100 blocks of 200000 bytes.
cat >"$WORK/job.py" <<'END'
import select, sys
kept = []
def down(depth):
    if depth:
        down(depth - 1)
    else:
        kept.extend(bytearray(200000) for _ in range(100))
while not select.select([sys.stdin], [], [], 0.001)[0]:
    busy = ["%0100d" % n for n in range(20000)]
down(30)
END
cat >"$WORK/job.pl" <<'END'
my @kept;
sub down {
	my $depth = shift;
	return down($depth - 1) if $depth;
	push @kept, "x" x (200000 + $_) for 1 .. 100;
}
my $in = "";
vec($in, 0, 1) = 1;
until (select(my $ready = $in, undef, undef, 0.001)) {
	my @busy = map { sprintf "%0100d", $_ } 1 .. 20000;
}
down(30);
END

is_running() {
	[ "$(readlink -f "/proc/$pid/exe")" = "$(readlink -f "$1")" ]
}

# sampled PROGRAM SCRIPT: its stacks are in $WORK/out.folded
sampled() {
	rm -rf "$WORK/stats"/* "$WORK/in"
	mkfifo "$WORK/in"
	run_under_exec env KONFISCATOR_KEEP=1 "$@" <"$WORK/in" &
	pid=$!
	exec 4>"$WORK/in"
	# the order is for the program, not for the env that starts it
	wait_for 60 is_running "$1" || fail "$1 did not start"
	wait_for 60 "$KF_CLI" ctl "$pid" sample=1K >"$WORK/said" 2>&1 ||
		fail "ctl: $(cat "$WORK/said")"
	echo go >&4
	exec 4>&-
	wait "$pid" || fail "$*: status $?"
	"$KF_CLI" report "$WORK/stats"/*."$pid".* -o "$WORK/out.folded" \
		2>"$WORK/err" || fail "report: $(cat "$WORK/err")"
}

# whole LEAST PROGRAM: fail unless all stacks begin as main does, and the one of
# the blocks has so many calls
whole() {
	awk -v least="$1" '
	{
		bytes = $NF
		sub(/ [0-9]+$/, "")
		calls = split($0, frame, ";")
		total++
		if (frame[2] !~ /^__libc_start_main/) {
			print "not whole: " $0
			wrong++
		}
		if (bytes > most) {
			most = bytes
			deep = calls
		}
	}
	END {
		print total, "stacks, one with", most, "bytes and", deep, "calls"
		exit wrong || most < 19e6 || deep < least
	}' "$WORK/out.folded" || fail "stacks of $2"
}

sampled /usr/bin/python3 "$WORK/job.py"
whole 12 python3
sampled /usr/bin/perl "$WORK/job.pl"
whole 8 perl
