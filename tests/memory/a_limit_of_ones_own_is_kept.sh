#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# KONFISCATOR_LIMIT: above a hard limit malloc and realloc fail with ENOMEM, a forked
# child's too, and the program goes on; what was held never was above it, but for
# tables. 90 % of it are noticed once each time. Without HARD nothing fails.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

LIMIT=$((128 * 1048576))
program=${top_builddir:?}/tests/memory/limits

# word NAME: of the one process
word() {
	cli stat -a --format=json | jq -r "[.[] | .. | .$1? // empty] | first"
}

# limited HARD ENGINE ARGUMENT...: prints what the program says
limited() {
	hard=$1 engine=$2
	shift 2
	rm -f "$WORK"/stats/*
	KONFISCATOR_LIMIT=128M KONFISCATOR_LIMIT_HARD=$hard \
		KONFISCATOR_ENGINE=$engine \
		run_under "$program" "$@" 2>"$WORK/err" ||
		fail "$engine $*: ended with status $?: $(cat "$WORK/err")"
}

# between LEAST MOST WHAT: MIB ENOMEM
between() {
	if [ "${3#* }" != ENOMEM ] || [ "${3% *}" -lt "$1" ] ||
		[ "${3% *}" -gt "$2" ]; then
		fail "wanted $1 to $2 ENOMEM, got $3"
	fi
}

for engine in firstfit tlsf secure; do
	for size in 4000 70000 3000000; do
		least=96
		[ "$engine $size" != "secure 4000" ] || least=50
		echo | limited 1 "$engine" fill "$size" >"$WORK/said"
		between "$least" 128 "$(cat "$WORK/said")"
		[ "$(word peak_held)" -le $((LIMIT + 1048576)) ] ||
			fail "$engine $size: $(word peak_held) bytes were held"
		equal "$engine: limit" "$LIMIT" "$(word limit)"
		[ "$(word limit_near)" -ge 1 ] || fail "$engine: not near"
		[ "$(word failed)" -ge 1 ] || fail "$engine: nothing failed"
	done
	between 50 128 "$(limited 1 "$engine" realloc)"
	between 60 96 "$(limited 1 "$engine" fork 70000)"
done

# Each time that it comes near anew is one.
export KONFISCATOR_EVENTS=4096
printf '\n\n\n' | limited 1 firstfit fill 3000000 >"$WORK/said"
unset KONFISCATOR_EVENTS
equal crossings 3 "$(word limit_near)"
cli events "$WORK"/stats/* --format=json >"$WORK/events"
equal events 3 "$(jq '[.[] | select(.event == "limit_near")] | length' "$WORK/events")"

# Not hard: everything is had, by a program that needs more than the limit.
for engine in firstfit tlsf secure; do
	equal "$engine" "1023 all" "$(echo | limited 0 "$engine" fill 70000)"
	equal "$engine: failed" 0 "$(word failed)"
done

# A bad value is told in a line, and there is no limit.
echo | KONFISCATOR_LIMIT=101% KONFISCATOR_LIMIT_HARD=1 \
	run_under "$program" fill 70000 >"$WORK/said" 2>"$WORK/err"
equal "bad value" "1023 all" "$(cat "$WORK/said")"
equal message "konfiscator: KONFISCATOR_LIMIT=101%: not bytes, with K, M, G or T, or 1% to 100%; the default stays" \
	"$(cat "$WORK/err")"
echo | KONFISCATOR_LIMIT=64M KONFISCATOR_LIMIT_HARD=1 KONFISCATOR_ENGINE=system \
	run_under "$program" fill 70000 >"$WORK/said" 2>"$WORK/err"
equal system "1023 all" "$(cat "$WORK/said")"
equal message "konfiscator: KONFISCATOR_LIMIT: the engine system takes no memory itself; there is no limit" \
	"$(cat "$WORK/err")"

# explain shows the limit and what is left.
mkfifo "$WORK/in"
KONFISCATOR_LIMIT=128M run_under_exec "$program" fill 70000 <"$WORK/in" &
pid=$!
exec 7>"$WORK/in"
at_exit "kill $pid 2>/dev/null"
wait_for 20 cli stat -p "$pid" >"$WORK/said" 2>&1 || fail "$(cat "$WORK/said")"
cli explain -w 0 -p "$pid" >"$WORK/said"
for row in 'limit of held memory  *128[.0]*Mi' 'headroom to this limit  *127'; do
	grep -q "^$row" "$WORK/said" || fail "no $row: $(cat "$WORK/said")"
done
cli explain -w 0 --format=json -p "$pid" |
	jq -e ".[0] | .limit_bytes == $LIMIT and
		.headroom_bytes == .limit_bytes - .held_bytes" >/dev/null ||
	fail "explain --format=json: wrong headroom"
exec 7>&-
