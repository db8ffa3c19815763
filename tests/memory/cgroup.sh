# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Memory cgroups for tests, of version 1 or 2, below the one of the test.
#
#	cgroup_make NAME BYTES	makes one; its directory is in $cgroup
#	cgroup_set BYTES	changes the limit of $cgroup
#	cgroup_run CMD...	runs a command in $cgroup
#	cgroup_leave_it		removes $cgroup, which must be empty

kf_v1=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
kf_v2=$(sed -n 's/^0::\(.*\)/\1/p' /proc/self/cgroup)

# The place of a hierarchy: cgroup_place TYPE OPTION
cgroup_place() {
	awk -v type="$1" -v option="$2" '{
		for (i = 7; i <= NF; i++)
			if ($i == "-")
				break
		if ($(i + 1) == type && (option == "" || $(i + 3) ~ option)) {
			print $5
			exit
		}
	}' /proc/self/mountinfo
}

cgroup_make() {
	if [ -n "$kf_v1" ]; then
		cgroup=$(cgroup_place cgroup '(^|,)memory(,|$)')
		[ -d "$cgroup$kf_v1" ] && cgroup=$cgroup$kf_v1
	else
		cgroup=$(cgroup_place cgroup2 '')
		[ -d "$cgroup$kf_v2" ] && cgroup=$cgroup$kf_v2
	fi
	cgroup=$cgroup/konfiscator-$1-$$
	mkdir "$cgroup" 2>/dev/null ||
		skip "no memory cgroup can be made here (as root?)"
	at_exit "rmdir $cgroup 2>/dev/null"
	cgroup_set "$2" 2>/dev/null ||
		skip "no limit of a memory cgroup can be set here"
}

cgroup_set() {
	if [ -n "$kf_v1" ]; then
		echo "$1" >"$cgroup/memory.limit_in_bytes"
	else
		echo "$1" >"$cgroup/memory.max"
	fi
}

cgroup_run() {
	# shellcheck disable=SC2016 # the inner shell expands it
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$@"
}

cgroup_leave_it() {
	wait_for 10 rmdir "$cgroup" 2>/dev/null || fail "$cgroup stays"
}
