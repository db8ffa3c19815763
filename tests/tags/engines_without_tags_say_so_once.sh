#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Tags are of the engine firstfit: under each other one a program that uses
# them, in several threads, runs as ever after one line on stderr; so does one
# that KONFISCATOR_TAG is to bill. Nobody is told where no tag is used.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir

stacks=${top_builddir:?}/tests/tags/stacks
LC_ALL=C sed -n 's/^KF_ENGINE(\([a-z]*\),.*/\1/p' \
	"$top_srcdir/src/engine/engines.def" | grep -vx firstfit >"$WORK/engines"
[ "$(wc -l <"$WORK/engines")" -ge 3 ] || fail "engines: $(cat "$WORK/engines")"

while read -r engine; do
	line="konfiscator: tags are not counted with the engine $engine, \
only with firstfit"
	export KONFISCATOR_ENGINE="$engine"
	KONFISCATOR_TAGS_JSON=$WORK/$engine.json KONFISCATOR_TAG_STACKS='*' \
		run_under "$stacks" </dev/null >"$WORK/out" 2>"$WORK/err" ||
		fail "$engine: the program ended with $?"
	equal "$engine: lines" "$line" "$(cat "$WORK/err")"
	equal "$engine: what the program says" 7 "$(wc -l <"$WORK/out")"
	equal "$engine: tagged bytes" 0 \
		"$(jq .nTotalNetTrackedBytes "$WORK/$engine.json")"
	KONFISCATOR_TAG=all run_under sh -c 'echo went on' >"$WORK/out" \
		2>"$WORK/err"
	equal "$engine: lines of KONFISCATOR_TAG" "$line" "$(cat "$WORK/err")"
	equal "$engine: that program" "went on" "$(cat "$WORK/out")"
	run_under sh -c 'echo went on' >"$WORK/out" 2>"$WORK/err"
	equal "$engine: lines of none" "" "$(cat "$WORK/err")"
done <"$WORK/engines"
