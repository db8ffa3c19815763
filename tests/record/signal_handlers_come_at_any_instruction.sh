#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A handler that allocates and frees comes after each instruction of calls of
# all kinds: it hurts neither them nor the recording, whose events are in an
# order that can be; what it could not write is counted. Likewise with tags.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

# interrupted NAME=VALUE...: run it, and leave in $came how often the handler came
interrupted() {
	status=0
	came=$(run_under timeout -s KILL 120 env "$@" \
		"${top_builddir:?}/tests/record/interrupt" 2>"$WORK/err") ||
		status=$?
	[ "$status" -ne 77 ] || skip "${came#SKIP: }"
	equal "status with $*" 0 "$status"
	[ "$came" -gt 10000 ] || fail "with $*: the handler came $came times"
	[ ! -s "$WORK/err" ] || fail "with $*: $(cat "$WORK/err")"
}

interrupted KONFISCATOR_RECORD=
for tag in '' KONFISCATOR_TAG=program; do
	interrupted KONFISCATOR_RECORD="$WORK/recording" \
		${tag:+"$tag"}
	replay "$WORK/recording"
	is anomalies 0
	is torn 0
	# Each round's four blocks, and what the handler could write.
	[ "$(found malloc)" -gt 40 ] || fail "$(found malloc) mallocs recorded"
	[ "$(found dropped)" -gt 0 ] || fail "no event came in the middle of one"
	rm "$WORK/recording"
done
