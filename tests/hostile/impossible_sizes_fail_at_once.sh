#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What asks for more bytes than there are addresses gets ENOMEM at once: nothing
# is asked of the kernel, no cache is given back for it, whatever the engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs strace strace
needs jq jq
workdir

strace -f -o "$WORK/log" true ||
	skip "strace may not trace here"

# calls ENGINE TURNS: the system calls about memory that this makes
calls() {
	strace -f -e trace=%memory -e signal=none -o "$WORK/log" \
		-E LD_PRELOAD="$KF_PRELOAD" -E KONFISCATOR_ENGINE="$1" \
		"${top_builddir:?}/tests/hostile/impossible" "$2" \
		>"$WORK/failed" || fail "$1: impossible $2 ended with $?"
	grep -c '(' "$WORK/log"
}

for engine in $(engine_names); do
	none=$(calls "$engine" 0)
	rm -f "$WORK"/stats/*
	many=$(calls "$engine" 300)
	# The clock may say that pages go meanwhile.
	[ "$many" -le $((none + 20)) ] ||
		fail "$engine: $((many - none)) system calls of 21000 requests"
	equal "$engine: failed, and retries" "$(cat "$WORK/failed") 0" "$(
		"$KF_CLI" --dir="$KONFISCATOR_DIR" --format=json \
			stat -a -n impossible |
			jq -r '.[0] | "\(.failed) \(.retries)"')"
done
