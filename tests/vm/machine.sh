# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests in machines share; follows tests/lib.sh, workdir and
# tests/scripts/crowd.sh.
#
#   crowd_traced ROOT TOOL...	run job.sh's jobs of these tools in a root, in
#				one boot; what they leave is in $OUT, or where
#				KF_VM_KEEP says. Skips where the root cannot be
#				had
#   agreed ROOT CHECK TOOL...	after crowd_traced: what CHECK says, in another
#				machine where it complains, three in all
#   verify_session NAME.KIND	the script NAME printed what happened in the
#				program with many threads
#   need_canary			skip where SystemTap itself does not go with
#				the kernel of the root

# Seconds for all that is done in roots and machines; it is some minutes.
: "${KF_VM_TIME:=1000}"
vm_began=$(date +%s)

vm() {
	vm_left=$((KF_VM_TIME - $(date +%s) + vm_began))
	[ "$vm_left" -gt 0 ] ||
		skip "this machine is too slow: $KF_VM_TIME seconds are over"
	sh "$top_srcdir/tests/vm/vm" -b "$top_builddir" -o "$OUT" \
		-t "$vm_left" "$@" 2>"$WORK/vm.err"
}

# judge WHAT STATUS: what the machine lacks is not of us
judge() {
	reason=$(grep -m 1 '^vm: ' "$WORK/vm.err" | sed 's/^vm: //')
	case $2 in
	0) return ;;
	77) skip "$reason" ;;
	124) skip "this machine is too slow: $1: $reason" ;;
	esac
	cat "$WORK/vm.err"
	fail "$1 ended with status $2"
}

# A machine that dies tells nothing of the library: what it has not done yet is
# done in another one.
in_machines() {
	for machine in 1 2 3; do
		status=0
		vm job "$@" || status=$?
		case $status in
		0 | 77 | 124)
			judge "the job in the machine" "$status"
			return
			;;
		esac
		echo "machine $machine of 3 ended with status $status:"
		cat "$WORK/vm.err"
	done
	skip "no machine lived to the end of its job: $(grep -m 1 '^vm: ' \
		"$WORK/vm.err")"
}

crowd_traced() {
	grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
		skip "the library was built with --disable-probes"
	root=$1
	shift
	OUT=${KF_VM_KEEP:-$WORK/out}
	mkdir -p "$OUT"
	status=0
	vm root "$root" || status=$?
	judge "making the root" "$status"
	# A library of a machine with a newer libc than that of the root.
	# shellcheck disable=SC2016
	vm native "$root" -- sh -c 'LD_PRELOAD=$KF_LIB /bin/true' \
		>"$OUT/preload" 2>&1 || :
	[ ! -s "$OUT/preload" ] ||
		skip "the root $root cannot load the library: $(head -n 1 \
			"$OUT/preload")"
	status=0
	vm native "$root" -- sh /kf/src/tests/vm/job.sh prepare "$@" ||
		status=$?
	judge "the preparation" "$status"
	in_machines "$root" "$top_srcdir/tests/vm/job.sh" trace "$@"
}

# Counts that are wrong because of the library are wrong each time: the program
# does the same again. Those that tracers lose on a machine that runs at a
# fiftieth of its speed are not.
agreed() {
	root=$1
	check=$2
	shift 2
	for machine in 2 3; do
		status=0
		("$check") >"$WORK/verdict" 2>&1 || status=$?
		cat "$WORK/verdict"
		case $status in
		0) return ;;
		77) exit 77 ;;
		esac
		echo "once more, in machine $machine of 3"
		rm -f "$OUT"/*.status
		(
			vm native "$root" -- sh /kf/src/tests/vm/job.sh \
				prepare "$@" || exit
			in_machines "$root" "$top_srcdir/tests/vm/job.sh" \
				trace "$@"
		) || fail "there was no machine to try it again in"
	done
	"$check"
}

need_canary() {
	grep -qs sings "$OUT/canary.out" ||
		skip "SystemTap does not go with the root's kernel: $(
			grep -v '^WARNING' "$OUT/canary.err" | head -n 1)"
}

verify_session() {
	seen=$OUT/$1
	[ "$(cat "$seen.status")" = 0 ] ||
		complain "$1: the tracer said $(cat "$seen.status")"
	for line in 'New heap' 'Created new arena' \
		'New thresholds::* mmap: [1-9][0-9]* bytes, trim: [1-9]'; do
		[ "$(lines "^[0-9]*: $line")" -ge 1 ] ||
			complain "$1: no line of '$line'"
	done
	for line in 'Contention:' 'Active arenas:' 'Allocated heaps:'; do
		equal "$1: lines '$line'" 1 "$(lines "^$line")"
	done
}
