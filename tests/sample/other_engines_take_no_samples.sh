#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With an engine that takes no samples, the secure one too, a program that is
# told to take them runs as it would, one line says why there are none, and an
# order to take them is refused with that. A program that is told nothing runs
# without a line.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
feeder=
at_exit end_feeder

end_feeder() {
	: >"$WORK/stop"
	[ -z "$feeder" ] || wait "$feeder"
}

why="only the engines firstfit and system take samples"
line="konfiscator: KONFISCATOR_SAMPLE=1024: $why; no samples are taken"

# Something to allocate for, until there is $WORK/stop.
feed() {
	until [ -e "$WORK/stop" ]; do
		echo '{"some": ["words", "and", 1, 2, 3]}'
		sleep 0.02
	done
}

has_file() {
	[ -n "$(find "$WORK/stats" -name "jq.$program.*")" ]
}

for option in SECURE=1 $(engines_but firstfit system | sed 's/^/ENGINE=/'); do
	rm -rf "$WORK/in" "$WORK/stop" "$WORK/stats"/*
	mkfifo "$WORK/in"
	feed >"$WORK/in" &
	feeder=$!
	KONFISCATOR_SAMPLE=1K run_under_exec env "KONFISCATOR_$option" \
		jq -c .some <"$WORK/in" >"$WORK/out" 2>"$WORK/said" &
	program=$!
	wait_for 300 has_file || fail "$option: it makes no stats file"
	if "$KF_CLI" ctl "$program" sample=512K 2>"$WORK/refused"; then
		fail "$option: the order was taken"
	fi
	grep -qF "$why" "$WORK/refused" ||
		fail "$option: refused with '$(cat "$WORK/refused")'"
	end_feeder
	feeder=
	wait "$program" || fail "$option: it ended with $?"
	equal "$option: what it wrote" '["words","and",1,2,3]' \
		"$(sort -u "$WORK/out")"
	equal "$option: what was said" "$line" "$(cat "$WORK/said")"
	"$KF_CLI" stat -a --format=json -n jq >"$WORK/stat"
	equal "$option: samples" 0 "$(jq '.[0].samples' "$WORK/stat")"
	[ "$(jq '.[0].mallocs' "$WORK/stat")" -gt 100 ] ||
		fail "$option: it did not allocate by the library"
done

# By default there are none of any engine but firstfit, and nothing is said.
unset KONFISCATOR_SAMPLE
for option in SECURE=1 $(engines_but firstfit | sed 's/^/ENGINE=/'); do
	rm -rf "$WORK/stats"/*
	echo '[1, 2, 3]' | run_under env "KONFISCATOR_$option" jq -c . \
		>"$WORK/out" 2>"$WORK/said" || fail "$option: it ended with $?"
	equal "$option: what was said by default" "" "$(cat "$WORK/said")"
	"$KF_CLI" stat -a --format=json -n jq >"$WORK/stat"
	equal "$option: mean distance by default" 0 \
		"$(jq '.[0].sample_mean' "$WORK/stat")"
	equal "$option: samples by default" 0 "$(jq '.[0].samples' "$WORK/stat")"
done
