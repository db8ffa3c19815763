#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What needs a kernel of one's own; make check-vm-limits runs it: programs that
# a cgroup kills, and those to which the kernel gives only what it has
# (vm.overcommit_memory 2). That address space is reserved counts nothing there.
[ -d /kf/src ] || {
	echo "limits.sh: runs only in the machine of make check-vm-limits" >&2
	exit 2
}
top_srcdir=/kf/src
top_builddir=/kf/build
KF_CLI=$top_builddir/konfiscator
export top_srcdir top_builddir KF_CLI
# shellcheck source=tests/lib.sh
. "$top_srcdir/tests/lib.sh"
workdir

hostile=$top_srcdir/tests/hostile
most=8192 # KiB that the library may have promised in an idle program
room=131072

sysctl=/proc/sys/vm

# promised COMMAND...: KiB that the kernel has to have for it
promised() {
	"$@" &
	pid=$!
	wait_for 60 grep -q -a sleep "/proc/$pid/comm"
	# shellcheck disable=SC2016
	awk '/^Size:/ { size = $2 } / ac( |$)/ { sum += size }
		END { print sum + 0 }' "/proc/$pid/smaps"
	kill "$pid"
	wait "$pid" || :
}

mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
sh "$hostile/program_killed_for_memory_tells_how_far_it_came.sh"

committed=$(sed -n 's/^Committed_AS: *\([0-9]*\) kB/\1/p' /proc/meminfo)
echo $((committed + room)) >$sysctl/overcommit_kbytes
echo 2 >$sysctl/overcommit_memory
KF_LITTLE_MEMORY=1 sh "$hostile/scarce_things_end_in_enomem.sh"

alone=$(promised sleep 1000)
[ "$alone" -gt 0 ] || fail "nothing is promised to a program"
under=$(promised env LD_PRELOAD="$KF_PRELOAD" sleep 1000)
[ $((under - alone)) -le "$most" ] ||
	fail "$((under - alone)) KiB are promised to the library, not $most"
