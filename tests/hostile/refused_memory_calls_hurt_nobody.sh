#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whichever memory call of a run the kernel refuses, one or all from there on,
# the program gets what it asked for or ENOMEM, and loses nothing. Each call is
# tried with FAULTS=all, every few of them otherwise.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

compile -shared -fPIC -fno-plt -O1 -fno-builtin -o "$WORK/refuse.so" \
	"$top_srcdir/tests/hostile/refuse.c" || fail "refuse.c cannot be built"
refused=${top_builddir:?}/tests/hostile/refused

# run REFUSE: prints what the program prints
run() {
	status=0
	REFUSE=$1 LD_PRELOAD="$KF_PRELOAD:$WORK/refuse.so" timeout -k 9 300 \
		"$refused" >"$WORK/out" 2>"$WORK/err" || status=$?
	rm -f "$WORK"/stats/*
}

# sweep ENGINE LENGTH STEP: windows of refused calls, from each STEPth call on
sweep() {
	export KONFISCATOR_ENGINE="$1"
	run 0,0
	equal "$1: status with nothing refused" 0 "$status"
	read -r calls none nothing <"$WORK/out"
	equal "$1: refused" "0 0" "$none $nothing"
	[ "$calls" -gt 5 ] || fail "$1: there are only $calls memory calls"
	n=1 tried=0
	while [ "$n" -le "$calls" ]; do
		run "$n,$2"
		# Before main() there may be too little to start a program.
		[ "$status" -eq 0 ] || [ "$2" -gt 3 ] ||
			fail "$1: REFUSE=$n,$2: status $status:" \
				"$(cat "$WORK/err")"
		case $status in
		0 | 1 | 127) ;;
		*) fail "$1: REFUSE=$n,$2: status $status: $(cat "$WORK/err")" ;;
		esac
		! grep -q '^refused:' "$WORK/err" ||
			fail "$1: REFUSE=$n,$2: $(cat "$WORK/err")"
		tried=$((tried + 1))
		n=$((n + $3))
	done
	echo "$1: $calls memory calls, $tried places of $2 refused ones"
}

step() {
	if [ "${FAULTS:-some}" = all ]; then
		echo 1
	else
		echo "$1"
	fi
}

# The engine system takes no memory from the kernel itself; secure makes a call
# or two for each large block.
for engine in $(engines_but system); do
	case $engine in
	firstfit)
		sweep firstfit 1 "$(step 5)"
		sweep firstfit 3 "$(step 17)"
		sweep firstfit 1000000 "$(step 19)"
		;;
	secure)
		sweep secure 1 "$(step 701)"
		sweep secure 1000000 "$(step 901)"
		;;
	*)
		sweep "$engine" 1 "$(step 5)"
		;;
	esac
done
