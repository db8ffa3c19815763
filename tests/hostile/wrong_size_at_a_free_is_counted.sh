#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A block that is freed with a size it cannot have is freed all the same, whatever
# the engine, and counted, with one line for the first. Where on_error says
# abort-on-size, and in secure mode, the program ends there.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/engine/engines.sh
. "$top_srcdir/tests/engine/engines.sh"
needs jq jq
needs prlimit util-linux
workdir

sizes=${top_builddir:?}/tests/hostile/sizes
[ -x "$sizes" ] || skip "there is no C++ compiler"
often=50
line='konfiscator: freed with the size [0-9]*: P of [0-9]* bytes\(, allocated at P\)\?, thread N'

# run SHAPE TIMES VARIABLE=VALUE...: its status; what it says is in $WORK
run() {
	shape=$1 times=$2
	shift 2
	rm -f "$WORK"/stats/*
	status=0
	env "$@" LD_PRELOAD="$KF_PRELOAD" prlimit --core=0 \
		"$sizes" "$shape" "$times" >"$WORK/out" 2>"$WORK/err" ||
		status=$?
	sed -i 's/0x[0-9a-f]*/P/g; s/thread [1-9][0-9]*/thread N/' "$WORK/err"
}

# counted: of the last run
counted() {
	"$KF_CLI" --dir="$KONFISCATOR_DIR" --format=json stat -a -n sizes |
		jq ".[0].size_mismatches"
}

# goes_on SHAPE VARIABLE=VALUE...: each block is counted, one line in all
goes_on() {
	run "$1" $often "$2"
	equal "$1 $2: status" 0 "$status"
	each=$(sed 's/ each//' "$WORK/out")
	equal "$1 $2: counted" $((each * often)) "$(counted)"
	equal "$1 $2: lines" 1 "$(grep -c . "$WORK/err")"
	grep -qx "$line; further ones are only counted" "$WORK/err" ||
		fail "$1 $2 said: $(cat "$WORK/err")"
}

# ends SHAPE VARIABLE=VALUE...: at the first
ends() {
	shape=$1
	shift
	run "$shape" $often "$@"
	equal "$shape $*: status" 134 "$status"
	grep -qx "$line" "$WORK/err" ||
		fail "$shape $* said: $(cat "$WORK/err")"
	equal "$shape $*: counted" 1 "$(counted)"
}

"$sizes" --list >"$WORK/shapes"
[ -s "$WORK/shapes" ] || fail "there are no shapes"
while read -r shape; do
	goes_on "$shape" KONFISCATOR_ON_ERROR=abort
	goes_on "$shape" KONFISCATOR_ON_ERROR=count
	goes_on "$shape" KONFISCATOR_EVENTS=0
	ends "$shape" KONFISCATOR_ON_ERROR=abort-on-size
	ends "$shape" KONFISCATOR_SECURE=1
	ends "$shape" KONFISCATOR_SECURE=1 KONFISCATOR_ON_ERROR=abort-on-size
	run "$shape" $often KONFISCATOR_SECURE=1 KONFISCATOR_ON_ERROR=count
	equal "$shape, secure, counted: status" 0 "$status"
done <"$WORK/shapes"

# Other engines know at most that a block has fewer bytes.
engines >"$WORK/engines"
while read -r engine; do
	[ "$engine" != secure ] || continue
	while read -r shape; do
		run "$shape" $often KONFISCATOR_ENGINE="$engine"
		equal "$shape, $engine: status" 0 "$status"
	done <"$WORK/shapes"
done <"$WORK/engines"

# Samples, tags and recordings make no other blocks, and no other count.
while read -r shape; do
	goes_on "$shape" KONFISCATOR_SAMPLE=1K
	goes_on "$shape" KONFISCATOR_RECORD="$WORK/stats.recording"
	rm -f "$WORK/stats.recording"*
	goes_on "$shape" KONFISCATOR_TAG=all
done <"$WORK/shapes"
