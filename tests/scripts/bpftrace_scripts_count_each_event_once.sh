#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A program that makes 23 events of a kind more than another run of it is seen
# to make 23 more, by every bpftrace script.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library
events=$top_builddir/tests/scripts/events

# more SCRIPT EVENT HOW_MANY...: with 23 of each kind the script counts so many
# more of these events than with none; $halves: they halve all large blocks
halves=
more() {
	script=$top_srcdir/scripts/bpftrace/$1
	shift
	for n in 0 23; do
		traced "$script" under_traced "$events" "$n" 23 \
			${halves:+"$n"}
		mv "$WORK/trace" "$WORK/trace.$n"
	done
	while [ $# -gt 0 ]; do
		cp "$WORK/trace.0" "$WORK/trace"
		none=$(traced_total "$1")
		cp "$WORK/trace.23" "$WORK/trace"
		equal "${script##*/}: $1" "$2" "$(($(traced_total "$1") - none))"
		shift 2
	done
}

# Five kinds of blocks: of malloc, calloc, posix_memalign, large ones, and those
# that realloc changes.
more konfiscator.bt alloc $((5 * 23)) release $((5 * 23)) resize 23 \
	large_alloc 23 large_free 23
for n in 0 23; do
	awk '/^@allocs_of_thread\[/ { print $3 }' "$WORK/trace.$n" |
		sort -n >"$WORK/threads.$n"
done
equal "threads that allocate" 24 "$(wc -l <"$WORK/threads.23" | tr -d ' ')"
equal "the least of their allocations" 1 "$(head -n 1 "$WORK/threads.23")"
equal "the allocations of main" \
	$((5 * 23 + $(tail -n 1 "$WORK/threads.0"))) \
	"$(tail -n 1 "$WORK/threads.23")"
grep -q '^\[256K, 512K) *23 |@' "$WORK/trace.23" ||
	fail "the histogram does not show 23 blocks of 300000 bytes"

more frag.bt
grep -q '^@total\[splits\]: [1-9]' "$WORK/trace.23" ||
	fail "frag.bt saw no split"
grep -q '^@largest_run\[coalesce\]: [1-9]' "$WORK/trace.23" ||
	fail "frag.bt saw no run"

# A mapping that shrinks gives pages back; one that is freed serves runs.
halves=yes
more mmap.bt less $((23 * 151552))
halves=
equal "lines of memory given back" 23 \
	"$(grep -c '^[0-9]* .* less ' "$WORK/trace.23")"
grep -q 'stack of 0x' "$WORK/trace.23" || fail "no stack was seen twice"

more malloc.bt large_alloc 23 large_free 23 large_bytes $((23 * 300000)) \
	new_thresholds 1
equal "new thresholds" 1 \
	"$(grep -c ': New thresholds: mmap: 303104 bytes, trim: 606208 bytes' \
		"$WORK/trace.23")"
equal "arenas: of main, and the one that all threads had in turn" 2 \
	"$(grep -c ': Created new arena$' "$WORK/trace.23")"
# Heaps are as many as the blocks take, each longer than the one before.
sed -n '/^Contention:$/,/^Bytes of/p' "$WORK/trace.23" |
	sed 's/^\(	*\)[0-9]* -> 0x[0-9a-f]*$/\1TID -> ARENA/
	     s/^	0x[0-9a-f]* -> [1-9][0-9]* bytes$/	HEAP -> N bytes/
	     s/^Total mapped: [1-9][0-9]* bytes$/Total mapped: N bytes/
	     /^@total/d
	     /^$/d' | uniq >"$WORK/summary"
cat >"$WORK/wanted" <<'END'
Contention:
Active arenas:
	TID -> ARENA
Allocated heaps:
	HEAP -> N bytes
Total mapped: N bytes
Mmap threshold in the end: 296 kb
Large blocks, and moves of the thresholds:
Bytes of large blocks:
END
diff "$WORK/wanted" "$WORK/summary" || fail "this is no summary of malloc.bt"

# Large blocks come from the slow path and are freed there.
more latency.bt free 23
[ "$(traced_total malloc)" -ge 23 ] || fail "latency.bt saw too few mallocs"
for call in malloc free; do
	grep -q "^@slow_ns\[$call\]" "$WORK/trace.23" ||
		fail "latency.bt has no histogram of $call"
	awk -v call="$call" '
		index($0, "@nanoseconds[" call "]: ") == 1 { ns = $2 }
		END { exit !(ns >= 23) }' "$WORK/trace.23" ||
		fail "latency.bt says that $call takes no time"
done

# Main has an arena, the first of the threads another, which goes from hand to
# hand.
more arenas.bt
for event in 'new 2' 'adopt 22' 'leave 23'; do
	what=${event% *}
	cp "$WORK/trace.23" "$WORK/trace"
	equal "arenas.bt: $what" "${event#* }" "$(traced_total "$what")"
	equal "arenas.bt: lines of $what" "${event#* }" \
		"$(grep -c "^[0-9].* $what *0x[0-9a-f]*$" "$WORK/trace.23")"
done
