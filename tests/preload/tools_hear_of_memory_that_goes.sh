#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A library that stands behind the names of memory calls hears of all pages that
# go back to the kernel. It may allocate and free in each call and wait for a
# lock of its own, which another thread holds that allocates: nothing breaks,
# nobody hangs, errno is kept. In both orders, with each engine, with samples
# and a recording.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

compile -shared -fPIC -O1 -fno-builtin -o "$WORK/hook.so" \
	"$top_srcdir/tests/preload/hook.c" || fail "hook.c cannot be built"

# run PRELOAD [quiet]: in the environment that there is
run() {
	status=0
	LD_PRELOAD=$1 timeout -k 9 300 "${top_builddir:?}/tests/preload/busy" \
		${2:+"$2"} >"$WORK/out" 2>"$WORK/err" || status=$?
	[ "$status" -eq 0 ] || fail "LD_PRELOAD=$1, engine" \
		"${KONFISCATOR_ENGINE:-firstfit}: status $status:" \
		"$(cat "$WORK/err")"
	echo "${KONFISCATOR_ENGINE:-firstfit}: $(cat "$WORK/out")"
}

for order in "$KF_PRELOAD:$WORK/hook.so" "$WORK/hook.so:$KF_PRELOAD"; do
	run "$order"
	for calls in $(tr -d '[:lower:]' <"$WORK/out"); do
		[ "$calls" -gt 0 ] || fail "unheard calls: $(cat "$WORK/out")"
	done
	KONFISCATOR_SAMPLE=10000 run "$order"
	KONFISCATOR_RECORD=$WORK/recording run "$order"
	# Other engines give nothing back, or by the C library's own ways.
	for engine in $(engines_but firstfit); do
		how=quiet
		[ "$engine" != secure ] || how=late
		KONFISCATOR_ENGINE=$engine run "$order" "$how"
	done
done
