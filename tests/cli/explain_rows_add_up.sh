#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The parts of the memory of real programs add up to what the kernel says is
# resident, within 2 %. Stacks, shared memory, files and page tables of a
# program that has known ones are what they are.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

LEAST=8 # programs; each machine has a shell and some more
nr=0

# begin NAME CMD...: run it under the library with an input that stays open
begin() {
	name=$1
	shift
	rm -f "$WORK/in"
	mkfifo "$WORK/in"
	run_under_exec "$@" <"$WORK/in" >"$WORK/said" 2>&1 7>&- &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	exec 7>"$WORK/in"
	wait_for 60 waits || fail "$name does not come to rest: $(cat "$WORK/said")"
}

finish() {
	exec 7>&-
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# The kernel's figure, in bytes.
rss() {
	awk '/^Rss:/ { print $2 * 1024 }' "/proc/$pid/smaps_rollup" 2>/dev/null
}

# It has a stats file, and its memory stands still for half a second.
waits() {
	[ -n "$(find "$WORK/stats" -name "*.$pid.*")" ] || return 1
	kf_rss=$(rss) && sleep 0.5 && [ "$kf_rss" = "$(rss)" ]
}

asks() {
	cli explain -w 0 --format=json -p "$pid" >"$WORK/answer" 2>"$WORK/err" ||
		fail "explain of $name: $(cat "$WORK/err")"
}

# holds EXPRESSION
holds() {
	[ "$(jq -r ".[0] | $1" "$WORK/answer")" = true ] ||
		fail "$name: not $1: $(jq -c ".[0] | del(.sizes)" "$WORK/answer")"
}

adds_up() {
	asks
	holds ".live_bytes + .rounding_bytes + .half_empty_bytes + .dirty_bytes +
		.metadata_bytes - .absent_bytes + .huge_pages_bytes +
		.files_bytes + .stacks_bytes + .shared_bytes + .others_bytes -
		$(rss) | fabs < 0.02 * $(rss)"
	holds ".files_bytes > 500000 and .stacks_bytes > 4000 and
		.page_tables_bytes > 8000"
	nr=$((nr + 1))
}

# try NAME CMD...: where there is such a program
try() {
	command -v "$2" >/dev/null || return 0
	begin "$@"
	adds_up
	finish
}

try cat cat
try sh sh -c 'read x'
try bash bash -c 'read x'
try perl perl -e 'my @a = (1) x 1000000; <STDIN>'
try python3 "$PYTHON3" -c 'a = list(range(1000000)); input()'
try git git hash-object --stdin
try sqlite3 sqlite3 :memory:
try gs gs -q -dNODISPLAY
try cc1 "$(gcc -print-prog-name=cc1)" -quiet - -o /dev/null
try node node -e 'process.stdin.resume()'
try redis-server redis-server --port 0 --save '' \
	--dir "$WORK" --unixsocket "$WORK/redis"
echo "daemon off; master_process off; pid $WORK/pid; events { }
http { access_log off; server { listen unix:$WORK/nginx; } }" >"$WORK/conf"
try nginx nginx -e "$WORK/errors" -c "$WORK/conf"
try tclsh tclsh
try lua lua5.4 -
try gdb gdb -q -nx
try php php -a
try ruby ruby -e 'gets'
try sort sort
try jq jq .
[ "$nr" -ge "$LEAST" ] || skip "only $nr of the programs are here"

# 4 MiB of shared memory, 8 MiB of others and 4 MiB each of two threads' stacks
begin parts "$top_builddir/tests/cli/parts"
adds_up
holds '.shared_bytes >= 4 * 1048576 and .shared_bytes < 5 * 1048576'
holds '.others_bytes >= 8 * 1048576 and .others_bytes < 9 * 1048576'
holds '.stacks_bytes >= 8 * 1048576 and .stacks_bytes < 9 * 1048576'
holds '.absent_bytes == 0'
finish
# 16 MiB of a block that was never touched hide these 8 MiB of others
begin untouched "$top_builddir/tests/cli/parts" untouched
adds_up
holds '.live_bytes >= 16 * 1048576'
holds '.absent_bytes - .others_bytes - 8 * 1048576 | fabs < 1048576'
expect 0 cli explain -w 0 -p "$pid"
prints "shared memory"
prints "stacks of threads"
prints "less: heap addresses without pages"
prints "page tables: the kernel's"
prints "not known: how much memory is outside the heap: it may"
finish
