#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Of a hundred programs that died, by SIGKILL, abort, a fault and the OOM killer
# of a cgroup, all with the default options, post-mortem names the planted leak
# first, with an interval that holds its bytes as often as it should.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
need_built

deaths=$top_builddir/tests/cli/deaths
unset KONFISCATOR_SAMPLE
blocks=262144
leak=$((blocks * 256))

cgroup=
for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	if mkdir "$parent/konfiscator-test.$$" 2>/dev/null; then
		cgroup=$parent/konfiscator-test.$$
		at_exit "rmdir $cgroup"
		break
	fi
done
limit=memory.limit_in_bytes
[ -e "$cgroup/$limit" ] || limit=memory.max
ways="kill abort segv"
if [ -n "$cgroup" ] && echo 160M >"$cgroup/$limit" 2>/dev/null; then
	# without swap, so that it dies soon; where there is no such limit
	# there is none to set
	[ ! -w "$cgroup/memory.swap.max" ] || echo 0 >"$cgroup/memory.swap.max"
	ways="$ways oom"
else
	printf 'SKIP in part: no deaths by the OOM killer: no cgroup with a limit of memory can be made here\n'
fi

# dies WAY: leaves its file; its end is the one that was asked for
dies() {
	status=0
	if [ "$1" = oom ]; then
		# shellcheck disable=SC2016 # words of the other shell
		run_under_exec sh -c 'echo $$ >"$0" && exec "$@"' \
			"$cgroup/cgroup.procs" "$deaths" "$1" "$blocks" 2>/dev/null &
	else
		run_under_exec "$deaths" "$1" "$blocks" 2>/dev/null &
	fi
	pid=$!
	wait "$pid" || status=$?
	case $1,$status in
	kill,137 | abort,134 | segv,139 | oom,137) ;;
	*) fail "deaths $1: status $status" ;;
	esac
	set -- "$WORK"/stats/deaths."$pid".*
	[ -e "$1" ] || fail "process $pid left no file"
}

# ended WAY HOW: whether that is what became of it
ended() {
	case $1,$2 in
	oom,OOM | oom,"likely OOM") ;;
	[!o]*,"signal or _exit" | segv,SIGSEGV) ;;
	*) fail "deaths $1 ended by: $2" ;;
	esac
}

held=0
nr=0
while [ "$nr" -lt 100 ]; do
	for way in $ways; do
		# the OOM killer takes its time and writes much
		[ "$way" != oom ] || [ $((nr % 5)) = 3 ] || continue
		[ "$nr" -lt 100 ] || break
		nr=$((nr + 1))
		dies "$way"
		cli post-mortem --format=json >"$WORK/out" ||
			fail "post-mortem of deaths $way: $?"
		jq -r --argjson leak "$leak" '.stacks[0] as $s | .pid,
			(if ($s.live_bytes - $leak | fabs) <= $s.error_95
				then 1 else 0 end),
			($s.stack | sub(" <.*"; "")), .ended' \
			"$WORK/out" >"$WORK/said"
		{ read -r of && read -r within && read -r stack && read -r how; } \
			<"$WORK/said"
		equal "the process of deaths $way" "$pid" "$of"
		equal "the first stack of deaths $way" leaky "$stack"
		ended "$way" "$how"
		held=$((held + within))
		if [ "$nr" -le 4 ]; then
			for suffix in pb.gz html folded; do
				cli -q post-mortem -o "$WORK/$nr.$suffix" ||
					fail "post-mortem -o x.$suffix of deaths $way"
			done
			gzip -dc "$WORK/$nr.pb.gz" | grep -qa leaky ||
				fail "pb.gz of deaths $way: no leaky"
			grep -q leaky "$WORK/$nr.html" ||
				fail "the page of deaths $way: no leaky"
			grep -q ';leaky ' "$WORK/$nr.folded" ||
				fail "stacks of deaths $way: no leaky"
		fi
		rm -f "$WORK"/stats/deaths.*
	done
done
printf 'the interval holds the truth in %d of %d deaths\n' "$held" "$nr"
[ "$held" -ge 89 ] || fail "the interval holds the truth in $held of $nr deaths"
