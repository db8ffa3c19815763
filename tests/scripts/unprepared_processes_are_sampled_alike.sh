#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# record --ebpf of a process without the library: what each function allocated
# and has live is about the truth, and about what the library's own samples of
# the same program say; a child that was forked counts for nobody. What cannot
# be is told in one line.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"

# refused STATUS TEXT ARG...
refused() {
	refused_text=$2
	refused_status=$1
	shift 2
	expect "$refused_status" "$@"
	says "$refused_text"
	equal "lines of $*" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
}

sleeper
refused 2 "needs one running process" cli record --ebpf -- true
refused 2 "needs one running process" cli record --ebpf
refused 2 "need the library" cli record --ebpf --exact -p "$pid"
refused 2 "need the library" cli record --ebpf --events -p "$pid"
refused 2 "need the library" cli record --ebpf --sample=1 -p "$pid"
refused 1 "there is no such process" cli record --ebpf -p 4194304
if [ "$(id -u)" != 0 ]; then
	refused 1 "--ebpf needs root" cli record --ebpf -p "$pid"
fi
: "${BPFTRACE:=bpftrace}"
need "$BPFTRACE"
[ "$(id -u)" = 0 ] || skip "tracing needs root"
expect 1 env PATH=/nowhere "$KF_CLI" record --ebpf -p "$pid"
says "install the package bpftrace"
timeout -s KILL 120 "$BPFTRACE" -e 'BEGIN { exit(); }' >"$WORK/may" 2>&1 ||
	skip "bpftrace may not trace here: $(tail -n 1 "$WORK/may")"


# A program without a loader and without names.
echo 'int pause(void); int main(void) { return pause(); }' >"$WORK/bare.c"
compile -static -s -o "$WORK/bare" "$WORK/bare.c"
"$WORK/bare" &
pid=$!
at_exit "kill $pid 2>/dev/null"
started() {
	[ "$(readlink "/proc/$pid/exe")" = "$WORK/bare" ]
}
wait_for 60 started || fail "the bare program did not start"
refused 1 "has a function malloc" cli record --ebpf -p "$pid"

# The program has libraries of its own, or all processes here would be slower.
program=$top_builddir/tests/scripts/unprepared
mkdir "$WORK/lib"
ldd "$program" | awk '$1 ~ /^lib(c|stdc\+\+)\.so/ { print $3 }' |
	xargs -I '{}' cp '{}' "$WORK/lib"
mkfifo "$WORK/orders"
is() {
	grep -q "$1" "$WORK/$2"
}
LD_LIBRARY_PATH=$WORK/lib "$program" <"$WORK/orders" >"$WORK/answers" &
pid=$!
at_exit "kill $pid 2>/dev/null"
exec 7>"$WORK/orders"
wait_for 60 is ready answers || fail "the program did not start"
"$KF_CLI" record --ebpf --sample=4K --interval=0.5 -o "$WORK/traced" \
	-p "$pid" 2>"$WORK/said" &
recorder=$!
at_exit "kill $recorder 2>/dev/null"
wait_for 180 test -s "$WORK/traced" || fail "no profile: $(cat "$WORK/said")"
echo >&7
wait_for 180 is "done" answers || fail "the program did not come to its end"
kill -INT "$recorder"
wait "$recorder" || fail "the recorder failed: $(cat "$WORK/said")"
grep -q "uprobes in $WORK/lib/libc.so.6 cost process $pid about" \
	"$WORK/said" || fail "the cost is not told: $(cat "$WORK/said")"
# What takes its time is announced.
for text in "bpftrace places them: this takes some seconds" \
	"process $pid is sampled now; Ctrl-C stops it" \
	"the profile is whole; taking the uprobes away takes"; do
	grep -q "$text" "$WORK/said" ||
		fail "'$text' is not told: $(cat "$WORK/said")"
done
! grep -q "lost\|no room" "$WORK/said" || skip "$(cat "$WORK/said")"
exec 7>&-
wait "$pid"

printf '\n\n' | "$KF_CLI" record --no-follow --sample=4K -q -o "$WORK/own" \
	-- "$program" >"$WORK/answers"

# sum FILE METRIC AT FUNCTION: the estimate, and half of its interval
sum() {
	"$KF_CLI" report -q --rows=0 --metric="$2" --format=csv "$1" |
		awk -F, -v name="$3" '$6 == name { sum += $1; error += $2 }
			END { print sum + 0, error + 0 }'
}

# about WHAT TRUTH ESTIMATE ERROR [ERROR]: within 2.5 times the interval, and
# what the file rounds away
about() {
	awk -v truth="$2" -v has="$3" -v a="$4" -v b="${5:-0}" 'BEGIN {
		off = has - truth
		exit (off < 0 ? -off : off) > 2.5 * sqrt(a * a + b * b) + truth / 1000
	}' || fail "$1: $3 +- $4 is not about $2 +- ${5:-0}"
}

# check FUNCTION ALLOCATED LIVE
check() {
	for metric in alloc live; do
		truth=$2
		[ "$metric" = alloc ] || truth=$3
		# shellcheck disable=SC2046
		set -- "$1" "$2" "$3" $(sum "$WORK/traced" "$metric" "$1") \
			$(sum "$WORK/own" "$metric" "$1")
		about "$metric of $1 by bpftrace" "$truth" "$4" "$5"
		about "$metric of $1 by the library" "$truth" "$6" "$7"
		about "$metric of $1 by both" "$6" "$4" "$5" "$7"
	done
}
check leak_small $((30000 * 256)) $((30000 * 256))
check leak_zeroed $((3000 * 2048)) $((3000 * 2048))
check leak_aligned $((300 * 40960)) $((300 * 40960))
check leak_new $((6000 * 1024)) $((6000 * 1024))
check churn $((20000 * 512)) 0
check grow $((10000 * 768)) 0

# The other readers take the file: whole stacks, known callers.
"$KF_CLI" report -q --view=tree "$WORK/traced" >"$WORK/tree"
grep -q leak_aligned "$WORK/tree" || fail "no leak_aligned: $(cat "$WORK/tree")"
"$KF_CLI" report -q --metric=alloc --format=csv --rows=0 "$WORK/traced" |
	grep -q ',leak_small,.*work < main' || fail "leak_small lacks its callers"
"$KF_CLI" report -q -o "$WORK/traced.pb.gz" "$WORK/traced"
"$KF_CLI" report -q -o "$WORK/traced.html" "$WORK/traced"
"$KF_CLI" diff "$WORK/traced" "$WORK/own" >"$WORK/out"
grep -q leak_small "$WORK/out" || fail "diff has no leak_small"
