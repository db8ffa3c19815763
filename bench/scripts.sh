#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What bench/scripts.py runs in a root of tests/vm:
#
#	scripts.sh prepare SCRIPT...	outside of the machine: compile them;
#		$OUT/SCRIPT.ko names the module
#	scripts.sh time ROUNDS NAME COMMAND SCRIPT...
#		in the machine: run the command, which is one word, without a
#		tracer and under each script in turn; $OUT/times gets
#		"NAME SCRIPT MICROSECONDS", which the processor worked, the
#		script being - without one
set -eu

launch="/kf/build/bench/launch $OUT/log 600 $KF_LIB"

prepare() {
	for name; do
		stap -p4 -r "$KERNEL" -DSTP_NO_OVERLOAD \
			"/kf/src/scripts/stap/$name.stp" -c true "$KF_LIB" \
			>"$OUT/$name.ko"
	done
}

# took SCRIPT COMMAND...: what launch says in the midst of a script's output
took() {
	what=$1
	shift
	"$@" >"$OUT/said" 2>&1 || {
		cat "$OUT/said"
		return 1
	}
	us=$(awk '/^[0-9]+ [0-9]+ [0-9]+ [0-9]+ exit 0$/ { print $2 + $3 }' \
		"$OUT/said")
	[ -n "$us" ] || {
		cat "$OUT/said" "$OUT/log"
		return 1
	}
	echo "$workload $what $us" >>"$OUT/times"
}

time_all() {
	rounds=$1
	workload=$2
	command="$launch $3"
	shift 3
	while [ "$rounds" -gt 0 ]; do
		took - sh -c "$command"
		for name; do
			took "$name" staprun -c "$command" "$(cat "$OUT/$name.ko")"
		done
		rounds=$((rounds - 1))
	done
}

what=$1
shift
case $what in
prepare) prepare "$@" ;;
time) time_all "$@" ;;
esac
