#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A library that is loaded later does nothing before konfiscator_attach(). Then all
# calls come to it, those of the C library and of objects loaded later too, and
# are counted exactly; blocks from before are counted apart when they are freed.
# After konfiscator_detach() no call comes, and nothing is left in the directory; all
# of it again counts from 0.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
needs jq jq
workdir

files() {
	find "$WORK/stats" -name "worker.$1.*" | wc -l
}

plugin=$top_builddir/tests/attach/.libs/plugin.so
worker "$KF_LIB"
tell asks
equal "before" no "$answer"
for round in 1 2 3; do
	tell_ok "hold 50"
	tell_ok attach
	tell attach
	equal "twice" "it is already attached" "$answer"
	tell asks
	equal "round $round: attached" yes "$answer"
	equal "round $round: files" 1 "$(files "$worker")"

	counters "$worker" "$WORK/a"
	equal "round $round: counts from 0" true \
		"$(jq ".[0].live_blocks < 5" "$WORK/a")"
	tell_ok "work 1000"
	counters "$worker" "$WORK/b"
	grew live_blocks 0 "$WORK/a" "$WORK/b"
	grew calloc_calls 1000 "$WORK/a" "$WORK/b"
	grew realloc_calls 1000 "$WORK/a" "$WORK/b"
	grew aligned_calls 3000 "$WORK/a" "$WORK/b"
	grew frees 7000 "$WORK/a" "$WORK/b"
	grew unknown_frees 0 "$WORK/a" "$WORK/b"

	tell_ok "hold 100"
	counters "$worker" "$WORK/a"
	grew live_blocks 100 "$WORK/b" "$WORK/a"
	tell_ok grow
	counters "$worker" "$WORK/b"
	grew unknown_frees 50 "$WORK/a" "$WORK/b"
	grew live_blocks 50 "$WORK/a" "$WORK/b"
	tell_ok drop
	counters "$worker" "$WORK/a"
	grew live_blocks -150 "$WORK/b" "$WORK/a"
	grew unknown_frees 0 "$WORK/b" "$WORK/a"

	tell_ok strdup
	counters "$worker" "$WORK/b"
	grew live_blocks 1 "$WORK/a" "$WORK/b"
	cp "$plugin" "$WORK/plugin$round.so"
	tell_ok "load $WORK/plugin$round.so"
	counters "$worker" "$WORK/a"
	[ "$(jq -s '.[1][0].allocated_bytes - .[0][0].allocated_bytes' \
		"$WORK/b" "$WORK/a")" -ge 12345 ] ||
		fail "the block of a library loaded later is not counted"

	tell_ok fork
	"$KF_CLI" ctl -q "$worker" sample=1K &
	order=$!
	until ! kill -0 "$order" 2>/dev/null; do
		tell_ok "work 10"
	done
	wait "$order" || fail "the order was refused"
	tell_ok "hold 1000"
	counters "$worker" "$WORK/b"
	[ "$(jq '.[0].samples' "$WORK/b")" -gt 20 ] || fail "no samples"
	tell_ok "hold 20"
	tell_ok detach
	equal "round $round: files left" 0 "$(files "$worker")"
	tell asks
	equal "round $round: detached" no "$answer"
	tell_ok "work 100"
	tell_ok drop
	all=$(files '*')
	tell_ok fork
	equal "round $round: files of the child" "$all" "$(files '*')"
	tell detach
	equal "twice" "it is not attached" "$answer"
done
leave

# Of these mallocs, all but the C library's have blocks of 8 bytes beside each
# other, and some call their own functions by name.
for name in libc.so.6 libjemalloc.so.2 libmimalloc.so.2 \
	libtcmalloc_minimal.so.4; do
	other=$(find /usr/lib /lib -name "$name" 2>/dev/null | head -n 1)
	[ -n "$other" ] || { echo "left out: $name is not installed"; continue; }
	export LD_PRELOAD="$other"
	worker "$KF_LIB"
	unset LD_PRELOAD
	tell_ok attach
	counters "$worker" "$WORK/a"
	tell_ok "tiny 1000"
	counters "$worker" "$WORK/b"
	grew mallocs 1000 "$WORK/a" "$WORK/b"
	grew realloc_calls 500 "$WORK/a" "$WORK/b"
	grew frees 1000 "$WORK/a" "$WORK/b"
	grew unknown_frees 0 "$WORK/a" "$WORK/b"
	leave
done
