#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bpftrace's scripts, as they are installed, need neither the library's path nor
# a process; given a process, they see that one alone.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir

# ready NAME LIBRARY: the script as it is installed for this library
ready() {
	sh "$top_srcdir/scripts/ready.sh" "$2" \
		"$top_srcdir/scripts/bpftrace/$1.bt"
}

# Nothing of the path as an argument is left.
for script in "$top_srcdir"/scripts/bpftrace/*.bt; do
	name=${script##*/}
	name=${name%.bt}
	ready "$name" /usr/lib/libx.so.1 >"$WORK/made.bt"
	grep -q "^ \* Usage: bpftrace $name.bt \[PID" "$WORK/made.bt" ||
		fail "$name.bt: the usage is that of the source"
	! grep 'usdt:\$\|LIBRARY' "$WORK/made.bt" ||
		fail "$name.bt: it still wants the path"
	equal "$name.bt: the lines 'ready'" 1 \
		"$(grep -c "konfiscator trace $name -- PROGRAM" "$WORK/made.bt")"
	equal "$name.bt: its probes" \
		"$(grep -c '^usdt:' "$script")" \
		"$(grep -c '^usdt:/usr/lib/libx.so.1:konf' "$WORK/made.bt")"
	highest=$(grep -o '\$[1-9]' "$script" | sort -u | tail -n 1)
	equal "$name.bt: its last argument" "\$$((${highest#?} - 1))" \
		"$(grep -o '\$[1-9]' "$WORK/made.bt" | sort -u | tail -n 1)"
done

need_tracing
copy_library
# trace.sh waits for this word alone, and gives the path and 0 to a script
sed_ready='s/printf("ready: .*\\n")/printf("ready\\n")/'
ready malloc "$TRACED" | sed "$sed_ready; s/\\\$1/(\$2 + 0)/g" >"$WORK/all.bt"
traced "$WORK/all.bt" under_traced sh -c :
grep -q '^[0-9]*: New heap$' "$WORK/trace" ||
	fail "no heap of a program was seen: $(cat "$WORK/trace")"

# As it is typed: with a process that is not the program
ready malloc "$TRACED" >"$WORK/malloc.bt"
for pid in '' $$; do
	# shellcheck disable=SC2086 # no word, or one
	timeout -s INT 20 "$BPFTRACE" "$WORK/malloc.bt" $pid \
		>"$WORK/typed" 2>"$WORK/typed.err" &
	typed=$!
	is_ready() {
		grep -q '^ready: ' "$WORK/typed" || ! kill -0 "$typed"
	}
	wait_for 150 is_ready || fail "not ready: $(cat "$WORK/typed.err")"
	grep -q '^ready: .*konfiscator trace malloc -- PROGRAM' "$WORK/typed" ||
		fail "bpftrace refused it: $(cat "$WORK/typed.err")"
	under_traced sh -c :
	seen() {
		grep -q 'New heap' "$WORK/typed"
	}
	if [ -z "$pid" ]; then
		wait_for 100 seen || echo "bpftrace missed the heap"
	else
		sleep 1
		! seen || fail "a process was seen that was not asked for"
	fi
	kill -INT "$typed" 2>/dev/null || :
	wait "$typed" || :
done
