#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# ls lists good and bad files, with the state of their processes, and how those
# that ended did.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

expect 3 cli ls
says "no stats file"

sleeper
mkstats "$WORK/stats/alive" pid="$pid" comm=sleep
mkstats "$WORK/stats/dead" start=1 age=7200
mkstats "$WORK/stats/boot" pid="$pid" boot=another
mkstats "$WORK/stats/older" pid="$pid" age=10
mkstats "$WORK/stats/unknown" start=0
mkstats "$WORK/stats/next" major=2
mkstats "$WORK/stats/cut" size=1000
echo "hello there" >"$WORK/stats/text"
mkfifo "$WORK/stats/fifo"

state() {
	cli --no-header ls | awk -v f="$WORK/stats/$1" \
		'index($0, f) == length($0) - length(f) + 1 { print $3, $(NF - 1) }'
}

equal "state of alive" "alive ok" "$(state alive)"
equal "state of dead" "dead ok" "$(state dead)"
equal "state of a file of another boot" "dead ok" "$(state boot)"
equal "state of an older file" "execed ok" "$(state older)"
equal "state without a start time" "unknown ok" "$(state unknown)"
equal "state of the next version" "bad incompatible" "$(state next)"
equal "state of a cut file" "bad damaged" "$(state cut)"
equal "state of a text" "bad foreign" "$(state text)"
equal "state of a FIFO" "bad foreign" "$(state fifo)"

expect 0 cli ls
prints "2h0m"
equal "lines" 10 "$(wc -l <"$WORK/out" | tr -d ' ')"

expect 0 cli --format=json ls -p "$pid"
"$PYTHON3" - "$WORK/out" "$pid" <<'END' || fail "JSON of ls is wrong"
import json, sys
rows = json.load(open(sys.argv[1]))
alive = [r for r in rows if r["state"] == "alive"]
assert len(alive) == 1, rows
assert alive[0]["pid"] == int(sys.argv[2])
assert alive[0]["process"] == "sleep"
assert alive[0]["size_bytes"] > 8192
assert all(r["pid"] == int(sys.argv[2]) for r in rows)
END
expect 3 cli ls -p 999999999
says "no stats file matches"

# How programs ended: what they said themselves, and what the kernel's log says
# of those that could not. Nothing else is told.
rm -rf "$WORK/stats"
mkdir "$WORK/stats"
ended() {
	cli --format=csv ls -a -p "$1" >"$WORK/out" ||
		fail "there is no file of $1"
	"$PYTHON3" -c 'import csv, sys
print(next(csv.DictReader(sys.stdin))["ended"])' <"$WORK/out"
}
run_to_end() {
	KONFISCATOR_KEEP=1 run_under_exec "$@" 2>/dev/null &
	pid=$!
	status=0
	wait "$pid" || status=$?
}
run_to_end "$PYTHON3" -c 'import sys; sys.exit(3)'
equal "exit" "exit 3" "$(ended "$pid")"
run_to_end "$PYTHON3" -c 'pass'
equal "return from main" "exit 0" "$(ended "$pid")"
run_to_end "$PYTHON3" -c 'import os; os._exit(4)'
equal "_exit" "signal or _exit" "$(ended "$pid")"
run_to_end "$PYTHON3" -c 'import os; os.kill(os.getpid(), 9)'
equal "status of a killed one" 137 "$status"
equal "SIGKILL" "signal or _exit" "$(ended "$pid")"
run_to_end "$PYTHON3" -c 'import os
if not os.fork(): os._exit(0)
os.wait()
os.execv("/bin/true", ["true"])'
equal "exec, then exit" "exit 0" "$(cli --format=csv ls -a -p "$pid" |
	grep -o 'exit 0')"
run_to_end "$PYTHON3" -c 'import ctypes; ctypes.string_at(0)'
equal "status of a fault" 139 "$status"
how=$(ended "$pid")
if [ -r /dev/kmsg ] && dmesg 2>/dev/null | grep -aq "\[$pid\]: segfault at"; then
	equal "a fault that the kernel tells of" SIGSEGV "$how"
else
	equal "a fault that nobody tells of" "signal or _exit" "$how"
fi
# A cgroup with a limit: the log names the process; where the log cannot be read
# the count of the cgroup makes it likely. A process of the same cgroup that
# ended of itself is not meant, nor is one that was killed in another cgroup.
cgroup=
for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	if mkdir "$parent/konfiscator-test.$$" 2>/dev/null; then
		cgroup=$parent/konfiscator-test.$$
		mkdir "$cgroup.other"
		at_exit "rmdir $cgroup $cgroup.other"
		break
	fi
done
limit=memory.limit_in_bytes
[ -e "$cgroup/$limit" ] || limit=memory.max
# in_cgroup CODE [CGROUP]: run it as python3 in the cgroup
in_cgroup() {
	run_to_end sh -c "echo \$\$ >${2:-$cgroup}/cgroup.procs
		exec $PYTHON3 -c '$1'"
}
# without_log PID [FILE]: how it ended, with FILE in the place of the log
# shellcheck disable=SC2016 # the shell there expands them
without_log() {
	unshare -m sh -c 'mount --bind "$1" /dev/kmsg && shift && exec "$@"' \
		sh "${2:-/dev/null}" \
		"$KF_CLI" --dir="$WORK/stats" --format=csv ls -a -p "$1" |
		"$PYTHON3" -c 'import csv, sys
print(next(csv.DictReader(sys.stdin))["ended"])'
}
if [ -n "$cgroup" ] && echo 64M >"$cgroup/$limit" 2>/dev/null &&
	unshare -m mount --bind /dev/null /dev/kmsg 2>/dev/null; then
	in_cgroup 'import os; os._exit(4)'
	equal "before any kill" "signal or _exit" "$(without_log "$pid")"
	in_cgroup 'x = [bytearray(1 << 20) for i in range(200)]'
	equal "status of the killed one" 137 "$status"
	equal "killed, without the log" "likely OOM" "$(without_log "$pid")"
	# A log that has all since the process began, and no such kill, knows better.
	killed=$pid
	in_cgroup 'import os; os.kill(os.getpid(), 9)'
	equal "after a kill, without the log" "likely OOM" "$(without_log "$pid")"
	echo '6,1,1,-;begin' >"$WORK/kmsg"
	equal "the log is whole" "signal or _exit" \
		"$(without_log "$pid" "$WORK/kmsg")"
	echo '6,1,99999999999999,-;begin' >"$WORK/kmsg"
	equal "the log begins too late" "likely OOM" \
		"$(without_log "$pid" "$WORK/kmsg")"
	pid=$killed
	if [ -r /dev/kmsg ] && dmesg | grep -aq "Killed process $pid "; then
		equal "killed, by the log" OOM "$(ended "$pid")"
		equal "resident memory, as the kernel says" "$(dmesg |
			grep -a "Killed process $pid " | tail -n 1 |
			sed 's/.*anon-rss:\([0-9]*\)kB, file-rss:\([0-9]*\)kB, shmem-rss:\([0-9]*\)kB.*/\1 \2 \3/' |
			awk '{ print 1024 * ($1 + $2 + $3) }')" \
			"$(cli --format=json post-mortem -p "$pid" |
				"$PYTHON3" -c 'import json, sys
print(json.load(sys.stdin)["killed_resident_bytes"])')"
	fi
	in_cgroup 'import sys; sys.exit(5)'
	equal "exit beside a kill" "exit 5" "$(without_log "$pid")"
	in_cgroup 'import os; os.kill(os.getpid(), 9)' "$cgroup.other"
	equal "SIGKILL elsewhere" "signal or _exit" "$(without_log "$pid")"
else
	printf 'not tried: no cgroup with a limit, or no mounts of its own\n'
fi
# a number that another process had before, and another boot
mkstats "$WORK/stats/early" start=1 boot=another
equal "another boot" unknown "$(cli --format=csv ls "$WORK/stats/early" |
	grep -o unknown)"
