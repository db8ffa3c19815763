# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests in machines share; follows tests/lib.sh, workdir and
# tests/scripts/observers.sh.
#
#   crowd_traced ROOT TOOL...	run job.sh's jobs of these tools in a root, in
#				one boot; what they leave is in $OUT, or where
#				KF_VM_KEEP says. Skips where the root cannot be
#				had
#   verify TOOL			what each script of this tool saw is right
#   verify_session NAME		NAME.stp printed what happened in the program
#				with many threads
#   need_canary			skip where SystemTap itself does not go with
#				the kernel of the root

# What job.sh's crowd is known to do: its children, threads and blocks.
CROWD_PROCESSES=4
CROWD_THREADS=$((CROWD_PROCESSES * 7))
CROWD_BLOCKS=$((CROWD_THREADS * 101))
CROWD_LARGE=$((CROWD_THREADS + CROWD_PROCESSES - 1))

vm() {
	sh "$top_srcdir/tests/vm/vm" -b "$top_builddir" -o "$OUT" -t 1200 "$@" \
		2>"$WORK/vm.err"
}

# in_root WHAT ARG...: 77 and 125 are of the machine, not of us
in_root() {
	what=$1
	shift
	status=0
	"$@" || status=$?
	case $status in
	0) ;;
	77 | 125) skip "$(tail -n 1 "$WORK/vm.err")" ;;
	*)
		cat "$WORK/vm.err"
		fail "$what ended with status $status"
		;;
	esac
}

crowd_traced() {
	grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
		skip "the library was built with --disable-probes"
	root=$1
	shift
	OUT=${KF_VM_KEEP:-$WORK/out}
	mkdir -p "$OUT"
	in_root "making the root" vm root "$root"
	# A library of a machine with a newer libc than that of the root.
	# shellcheck disable=SC2016
	vm native "$root" -- sh -c 'LD_PRELOAD=$KF_LIB /bin/true' \
		>"$OUT/preload" 2>&1 || :
	[ ! -s "$OUT/preload" ] ||
		skip "the root $root cannot load the library: $(head -n 1 \
			"$OUT/preload")"
	in_root "the preparation" vm native "$root" -- \
		sh /kf/src/tests/vm/job.sh prepare "$@"
	status=0
	vm job "$root" "$top_srcdir/tests/vm/job.sh" trace "$@" || status=$?
	if [ "$status" -eq 126 ]; then
		echo "once more, as the kernel panicked:"
		cat "$WORK/vm.err"
		status=0
		vm job "$root" "$top_srcdir/tests/vm/job.sh" trace "$@" ||
			status=$?
	fi
	in_root "the job" sh -c "exit $status"
}

need_canary() {
	grep -qs sings "$OUT/canary.out" ||
		skip "SystemTap does not go with the root's kernel: $(
			grep -v '^WARNING' "$OUT/canary.err" | head -n 1)"
}

# complain: what this script's tracer said
complain() {
	tail -n 60 "$seen.out" "$seen.err"
	fail "$*"
}

total() {
	awk -v event="$1" '
		index($0, "@total[" event "]: ") == 1 { n = $2 }
		END { print n + 0 }' "$seen.out"
}

lines() {
	grep -c "$1" "$seen.out"
}

# What is known of a script beyond what is asked of all.
verify_konfiscator() {
	equal "$tool: resized blocks" "$CROWD_BLOCKS" "$(total resize)"
	equal "$tool: large blocks" "$CROWD_LARGE" "$(total large_alloc)"
	nr=$(total alloc)
	[ "$nr" -ge $((CROWD_BLOCKS + CROWD_LARGE)) ] ||
		complain "$tool: $nr allocations only"
	while read -r event counter name; do
		agree "$tool: $event" "$(total "$event")" "$counter" "$name"
	done <"$WORK/events"
}

verify_frag() {
	agree "$tool: runs merged" "$(total merged)" defrags defrag_total
	agree "$tool: nodes visited" "$(total visited)" visited \
		free_list_visited_total
}

# In the first process all threads hold a large block at once, each a mapping of
# its own. How many of them go back to the kernel is the library's choice.
verify_mmap() {
	[ "$(total more)" -ge $((7 * 300000)) ] ||
		complain "$tool: $(total more) bytes mapped only"
	[ "$(total less)" -ge 300000 ] ||
		complain "$tool: $(total less) bytes unmapped only"
}

# Arenas and heaps are of the first process: the children inherit them.
verify_malloc() {
	equal "$tool: arenas" 8 "$(lines ': Created new arena$')"
	[ "$(lines ': New heap$')" -ge 1 ] || complain "$tool: no heap"
	equal "$tool: thresholds, one of each process" "$CROWD_PROCESSES" \
		"$(lines ': New thresholds: mmap: 303104 bytes')"
	grep -q '^Total mapped: [1-9][0-9]* bytes$' "$seen.out" ||
		complain "$tool: nothing mapped"
}

# Its counters have the exporter's names.
verify_prometheus() {
	nr=0
	grep '^konfiscator_' "$seen.out" >"$WORK/page"
	while read -r event counter name; do
		[ -n "$(metric "$name")" ] || continue
		equal "$tool: $event on the page and in the stats file" \
			"$(metric "$name")" "$(column "$counter")"
		nr=$((nr + 1))
	done <"$WORK/events"
	[ "$nr" -ge 4 ] || complain "the page has $nr known counters only"
}

# verify_one NAME
verify_one() {
	seen=$OUT/$1.$tool
	[ -s "$seen.status" ] || complain "$1: $tool was not run"
	[ "$(cat "$seen.status")" = 0 ] ||
		complain "$1: $tool said $(cat "$seen.status")"
	if grep -E '^(ERROR|semantic error)|registration error|No probes' \
		"$seen.err"; then
		complain "$1: $tool left out a probe"
	fi
	observe "$seen.stats"
	equal "$1, $tool: processes" "$CROWD_PROCESSES" "$(column processes)"
	equal "$1, $tool: blocks resized by the stats file" "$CROWD_BLOCKS" \
		"$(column realloc_calls)"
	awk 'ready; /^ready$/ { ready = 1 }' "$seen.out" >"$WORK/after"
	grep -q '[1-9]' "$WORK/after" || complain "$1: $tool saw nothing"
	case $1 in
	konfiscator | frag | mmap | malloc | prometheus) "verify_$1" ;;
	esac
}

verify() {
	tool=$1
	counted_events >"$WORK/events"
	nr_scripts=0
	for script in "$top_srcdir/scripts/$tool"/*.*; do
		name=${script##*/}
		verify_one "${name%.*}"
		nr_scripts=$((nr_scripts + 1))
	done
	[ "$nr_scripts" -ge 4 ] || fail "only $nr_scripts scripts of $tool"
	echo "$tool: $nr_scripts scripts saw what happened"
}

verify_session() {
	seen=$OUT/$1.session
	[ "$(cat "$seen.status")" = 0 ] ||
		complain "$1: stap said $(cat "$seen.status")"
	for line in 'New heap' 'Created new arena' \
		'New thresholds::* mmap: [1-9][0-9]* bytes, trim: [1-9]'; do
		[ "$(lines "^[0-9]*: $line")" -ge 1 ] ||
			complain "$1: no line of '$line'"
	done
	for line in 'Contention:' 'Active arenas:' 'Allocated heaps:'; do
		equal "$1: lines '$line'" 1 "$(lines "^$line")"
	done
}
