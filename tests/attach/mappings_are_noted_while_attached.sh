#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# What an attached process maps past malloc is noted with its stack until the
# library is detached; then its calls are the C library's again.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gdb gdb
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

rm -f "$WORK/in" "$WORK/answers"
mkfifo "$WORK/in" "$WORK/answers"
"$top_builddir/tests/cli/maps" later <"$WORK/in" >"$WORK/answers" 2>"$WORK/err" &
pid=$!
at_exit "kill $pid 2>/dev/null || :"
exec 3>"$WORK/in" 4<"$WORK/answers"
read -r answer <&4

# later: let it map 20 MiB in two parts
later() {
	echo more >&3
	read -r answer <&4
	equal answer mapped "$answer"
}

# Of map_hole(), which touches 10 MiB.
resident() {
	cli explain -w 0 --format=json -p "$pid" |
		jq '[.[0].mappings[] | select(.stack | contains("map_hole")) |
			.resident_bytes] | add // 0'
}

later
for round in 1 2; do
	"$KF_CLI" attach -q --sample=1M "$pid" 2>"$WORK/said" ||
		fail "attach: $(cat "$WORK/said")"
	equal "round $round: at first" 0 "$(resident)"
	later
	equal "round $round: one" 10485760 "$(resident)"
	later
	equal "round $round: two" 20971520 "$(resident)"
	"$KF_CLI" detach -q "$pid" || fail "detach failed"
	later
done
exec 3>&- 4<&-
wait "$pid" || fail "the program ended with $?"
