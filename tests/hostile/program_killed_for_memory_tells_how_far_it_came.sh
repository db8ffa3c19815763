#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that the kernel kills where its cgroup has no more memory leaves a
# file that tells what it had: counts, events, and why.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

limit=$((48 << 20))
scarce=${top_builddir:?}/tests/hostile/scarce

# Version 2 or 1 of cgroups, wherever one can be made.
cgroup_of() {
	cgroup=$1/konfiscator-test-$$
	echo +memory 2>/dev/null >"$1/cgroup.subtree_control" || :
	mkdir "$cgroup" 2>/dev/null || return
	at_exit "rmdir '$cgroup'"
	echo 0 2>/dev/null >"$cgroup/memory.swap.max" || :
	echo "$limit" 2>/dev/null >"$cgroup/memory.max" ||
		echo "$limit" 2>/dev/null >"$cgroup/memory.limit_in_bytes"
}

for top in /sys/fs/cgroup/memory /sys/fs/cgroup none; do
	[ "$top" != none ] ||
		skip "no cgroup with a limit of memory can be made here"
	! cgroup_of "$top" || break
done

# The engine system does not know what the C library holds.
for engine in $(engines_but system); do
	rm -f "$KONFISCATOR_DIR"/*
	status=0
	# shellcheck disable=SC2016
	KONFISCATOR_ENGINE=$engine LD_PRELOAD=$KF_PRELOAD sh -c '
		echo 0 >"$1" && exec "$2" memory' sh "$cgroup/cgroup.procs" \
		"$scarce" >"$WORK/out" 2>&1 || status=$?
	equal "$engine: status of a program without memory: $(cat "$WORK/out")" \
		137 "$status"
	"$KF_CLI" --dir="$KONFISCATOR_DIR" --format=json stat -a -n scarce \
		>"$WORK/stat"
	held=$(sed -n 's/.*"held_bytes": \([0-9]*\).*/\1/p' "$WORK/stat")
	[ "${held:-0}" -gt $((limit / 2)) ] ||
		fail "$engine: held by the file of the dead: ${held:-nothing}"
	equal "$engine: requests that failed" 0 \
		"$(sed -n 's/.*"failed": \([0-9]*\).*/\1/p' "$WORK/stat")"
	for command in explain events; do
		"$KF_CLI" "$command" "$KONFISCATOR_DIR"/scarce.* >"$WORK/$command" ||
			fail "$engine: konfiscator $command of the dead"
		[ -s "$WORK/$command" ] ||
			fail "$engine: konfiscator $command says nothing"
	done
done
