# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What tracers see of crowd.c, a threaded, forking program whose events are
# known; follows tests/lib.sh, workdir, tests/scripts/observers.sh and, for
# tracing, tests/scripts/trace.sh.
#
#   $CROWD		its arguments
#   trace_crowd SCRIPT	run it under a script of bpftrace, on $TRACED, and leave
#			what "verify bpftrace" wants in $OUT
#   keep NAME.TOOL STATUS
#			leave the stats files of $WORK/stats and the status
#   verify TOOL		what each script of this tool left in $OUT is right:
#			NAME.TOOL.out, .err, .status, and .stats, the stats
#			files of the crowd that it saw. planted.TOOL.* are of a
#			script that names a probe that is not there
#   crowd_env NAME	variables of the crowd under the script NAME, words
#   plant SCRIPT FILE	make that script of one that names defrag_coalesce
#   complain MESSAGE	fail, with what the tracer of $seen.* said

# Its children, threads and blocks, and what it does with them.
CROWD="3 7 101"
CROWD_PROCESSES=4
CROWD_THREADS=$((CROWD_PROCESSES * 7))
CROWD_BLOCKS=$((CROWD_THREADS * 101))
CROWD_LARGE=$((CROWD_THREADS * 2 + CROWD_PROCESSES - 1))
# What each thread keeps under its tag, as asked for and as it was given, and
# what it has there for a moment.
CROWD_KEPT=200000
CROWD_KEPT_USABLE=200704
CROWD_PASSED=$((11 * 77))
# For the script that follows samples: of the blocks of 2000 bytes some, and
# each of the large ones.
CROWD_SAMPLE="KONFISCATOR_SAMPLE=8K KONFISCATOR_SAMPLE_SEED=1"

# bpftrace's sums are of a processor, and not guarded against another thread
# that takes it in the midst of an addition, which a slow machine lets happen.
# So no thread of the crowd takes it from another, where that can be had.
in_turn=
if chrt -f 1 true 2>/dev/null; then
	in_turn="chrt -f 1"
fi

crowd() {
	rm -rf "$WORK/stats"
	mkdir -m 0700 "$WORK/stats"
	# shellcheck disable=SC2046,SC2086 # words
	$in_turn env $(crowd_env "${seen%.*}") LD_PRELOAD="$TRACED" \
		"$top_builddir/tests/scripts/crowd" $CROWD
}

crowd_env() {
	[ "$1" != heap ] || echo "$CROWD_SAMPLE"
}

keep() {
	rm -rf "$OUT/$1.stats"
	mkdir "$OUT/$1.stats"
	cp -a "$WORK/stats/." "$OUT/$1.stats"
	echo "$2" >"$OUT/$1.status"
}

# What cannot be traced ends the shell.
trace_crowd() {
	seen=${1##*/}
	seen=${seen%.bt}.bpftrace
	status=0
	(traced "$1" crowd) >"$OUT/$seen.log" 2>&1 || status=$?
	cp "$WORK/trace" "$OUT/$seen.out"
	cp "$WORK/trace.err" "$OUT/$seen.err"
	keep "$seen" "$status"
	[ "$status" -eq 0 ]
}

plant() {
	sed 's/\([:.]\)defrag_coalesce/\1defrag_coalesced/' "$1" >"$2"
}

# complain: what this script's tracer said
complain() {
	tail -n 60 "$seen".[!s]*
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

# The children begin with what the first process had mapped when they were
# forked, with a large block of each of its threads.
verify_mmap() {
	agree "$tool: bytes given back" $(($(total less) + $(total purge))) \
		returned returned_bytes_total
	inherited=$(($(column mapped) + $(total less) - $(total more)))
	equal "$tool: bytes inherited, less those of pages of each child" 0 \
		$((inherited % ((CROWD_PROCESSES - 1) * 4096)))
	[ "$inherited" -ge $(((CROWD_PROCESSES - 1) * 7 * 300000)) ] ||
		complain "$tool: $inherited bytes were inherited only"
}

# The arenas of the first process' threads are nobody's in its children, whose
# threads may have one after the other. Heaps are inherited.
verify_malloc() {
	arenas=$(lines ': Created new arena$')
	{ [ "$arenas" -ge $((8 + CROWD_PROCESSES - 1)) ] &&
		[ "$arenas" -le $((8 + 7 * (CROWD_PROCESSES - 1))) ]; } ||
		complain "$tool: $arenas arenas"
	[ "$(lines ': New heap$')" -ge 1 ] || complain "$tool: no heap"
	equal "$tool: thresholds, one of each process" "$CROWD_PROCESSES" \
		"$(lines ': New thresholds: mmap: 303104 bytes')"
	grep -q '^Total mapped: [1-9][0-9]* bytes$' "$seen.out" ||
		complain "$tool: nothing mapped"
}

# of PID NAME: a column of the stats file of one of its processes
of() {
	"$KF_CLI" stat --all --dir="$seen.stats" --pid="$1" --format=csv \
		>"$WORK/stat"
	column "$2"
}

# live: a line for each process and stack, the process and its live bytes.
live() {
	awk '
		/^[0-9]+;/ { sum[$1] += $NF }
		END {
			for (site in sum)
				print site + 0, sum[site]
		}' "$seen.out" | sort
}

# places: the live bytes of each stack, of all processes together. bpftrace has
# entries for each thread, from 0.23 on with its number as the process', and no
# names of processes that have ended.
places() {
	awk '
		/^@live\[/ { site = "" }
		/^    / { site = site " " $1 }
		/^\]: / { sum[site] += $2 }
		END {
			for (site in sum)
				print sum[site]
		}' "$seen.out"
}

# Each process has blocks of keep(), and what its C library needs. The children
# have what was live when they were forked as well, of which a tracer knows
# nothing by their numbers.
verify_heap() {
	agree "$tool: samples" "$(total samples)" samples samples_total
	equal "$tool: samples not followed" 0 "$(total not_followed)"
	if [ "$tool" = bpftrace ]; then
		equal "$tool: places where all processes keep blocks" 1 \
			"$(places | grep -c -x \
				$((CROWD_PROCESSES * 7 * CROWD_KEPT_USABLE)))"
		return
	fi
	live >"$WORK/live"
	equal "$tool: processes that keep blocks at one place" \
		"$CROWD_PROCESSES" \
		"$(grep -c " $((7 * CROWD_KEPT_USABLE))\$" "$WORK/live")"
	equal "$tool: processes that keep blocks in keep()" \
		"$CROWD_PROCESSES" "$(lines \
			"^[0-9]*;.*;keep;.* $((7 * CROWD_KEPT_USABLE))$")"
	: >"$WORK/inherited"
	for pid in $(cut -d ' ' -f 1 "$WORK/live" | uniq); do
		echo $(($(of "$pid" sample_live) - $(awk -v pid="$pid" '
			$1 == pid { sum += $2 }
			END { print sum + 0 }' "$WORK/live"))) \
			>>"$WORK/inherited"
	done
	sort -n "$WORK/inherited" | uniq -c >"$WORK/forks"
	equal "$tool: a process has what it was seen to have, and its children \
what it had besides" "1 0 $((CROWD_PROCESSES - 1))" \
		"$(awk 'NR == 1 { printf "%d %d", $1, $2 }
			NR == 2 && $2 > 7 * 300000 { printf " %d", $1 }
			NR > 2 { printf " and more" }' "$WORK/forks")"
}

# told MAP: what it says of the tag
told() {
	sed -n "s/^@$1\[kept\]: //p" "$seen.out"
}

verify_tags() {
	equal "$tool: push" "$CROWD_THREADS" "$(total push)"
	equal "$tool: entered" "$CROWD_THREADS" "$(told entered)"
	# bpftrace 0.23 does not find all again that it keeps by thread.
	if [ "$tool" = bpftrace ] && [ -n "${CROWD_FORGETS-}" ]; then
		return
	fi
	equal "$tool: pop" "$CROWD_THREADS" "$(total pop)"
	equal "$tool: blocks of the tag" $((12 * CROWD_THREADS)) "$(told blocks)"
	equal "$tool: bytes of the tag" \
		$(((CROWD_KEPT + CROWD_PASSED) * CROWD_THREADS)) "$(told bytes)"
	[ "$(told nanoseconds)" -gt 0 ] || complain "$tool: it took no time"
	for file in "$seen.stats"/*; do
		"$KF_CLI" tags --view=flat --format=csv "$file"
	done >"$WORK/tags"
	equal "$tool: entered, by the stats files" "$(told entered)" \
		"$(awk -F, '$1 == "kept" { n += $NF } END { print n }' \
			"$WORK/tags")"
}

# Its counters have the exporter's names, and the exporter follows the page.
verify_prometheus() {
	nr=0
	grep '^# \|^konfiscator_' "$seen.out" >"$WORK/page"
	"${PROMTOOL:-promtool}" check metrics <"$WORK/page" ||
		complain "promtool does not accept the page"
	while read -r event counter name; do
		[ -n "$(metric "$name")" ] || continue
		equal "$tool: $event on the page and in the stats file" \
			"$(metric "$name")" "$(column "$counter")"
		nr=$((nr + 1))
	done <"$WORK/events"
	[ "$nr" -ge 4 ] || complain "the page has $nr known counters only"
	[ -n "$exporter" ] || return 0
	"${PYTHON3:-python3}" "$top_srcdir/tests/exporter/page_is_followed.py" \
		"$WORK/page" || complain "the exporter does not follow the page"
}

# verify_one NAME
verify_one() {
	seen=$OUT/$1.$tool
	[ -s "$seen.status" ] || complain "$1: $tool was not run"
	[ "$(cat "$seen.status")" = 0 ] ||
		complain "$1: $tool said $(cat "$seen.status")"
	# A limit of memory that is not to be had, or a probe that was not taken
	# away, changed no count.
	if grep -E '^(ERROR|semantic error)|registration error|No probes' \
		"$seen.err" | grep -v 'RLIMIT_MEMLOCK\|to detach'; then
		complain "$1: $tool left out a probe"
	fi
	observe "$seen.stats"
	equal "$1, $tool: processes" "$CROWD_PROCESSES" "$(column processes)"
	equal "$1, $tool: blocks resized by the stats file" "$CROWD_BLOCKS" \
		"$(column realloc_calls)"
	awk 'ready; /^ready$/ { ready = 1 }' "$seen.out" >"$WORK/after"
	grep -q '[1-9]' "$WORK/after" || complain "$1: $tool saw nothing"
	case $1 in
	konfiscator | frag | mmap | malloc | prometheus | heap | tags)
		"verify_$1"
		;;
	esac
}

# A script that names a probe that is not there is told from the others.
verify_planted() {
	seen=$OUT/planted.$tool
	if (verify_one planted) >"$WORK/planted" 2>&1; then
		fail "$tool: a renamed probe is not noticed"
	fi
	grep -q defrag_coalesced "$seen.err" ||
		complain "$tool: the renamed probe is not named"
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
	[ "$nr_scripts" -ge 8 ] || fail "only $nr_scripts scripts of $tool"
	echo "$tool: $nr_scripts scripts saw what happened"
	verify_planted
}
