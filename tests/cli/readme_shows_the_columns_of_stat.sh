#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The tables of konfiscator stat in README.md have the columns that it prints.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

run_under_exec sleep 600 &
pid=$!
at_exit "kill $pid 2>/dev/null"

has_file() {
	[ -n "$(ls "$WORK/stats")" ]
}
wait_for 60 has_file || fail "there is no stats file"

# Each example's options but those that select processes, and its header line.
awk '/^    \$ konfiscator stat/ {
	sub(/^.*konfiscator stat */, "")
	gsub(/--name=[^ ]*|-[pn] [^ ]*/, "")
	options = $0
	if ((getline line) > 0)
		print options "|" line
}' "$top_srcdir/README.md" >"$WORK/examples"
[ "$(wc -l <"$WORK/examples")" -ge 2 ] || fail "README.md has too few examples"
while IFS='|' read -r options header; do
	# shellcheck disable=SC2086 # a list
	"$KF_CLI" --dir="$WORK/stats" stat $options >"$WORK/out"
	equal "columns of konfiscator stat $options" \
		"$(head -n 1 "$WORK/out" | xargs)" "$(echo "$header" | xargs)"
done <"$WORK/examples"
