#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each block is billed to the tag that allocated it until it is freed, whoever
# frees it; so it is with every engine, while the heap's history is recorded, and
# for threads that share a heap. At 100 moments of 8 threads the tags add up to
# the live bytes.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/engine/engines.sh
. "$top_srcdir/tests/engine/engines.sh"

billing=${top_builddir:?}/tests/tags/billing
cases=$(sed -n 's/^\t*.*{"\([a-z_]*\)", [a-z_]*}.*/&/p' \
	"$top_srcdir/tests/tags/billing.c" |
	grep -o '{"[a-z_]*", [a-z_]*}' | cut -d'"' -f2)
[ "$(echo "$cases" | wc -l)" -ge 11 ] || fail "too few cases: $cases"

for case in $cases; do
	unset KONFISCATOR_TAG_LEVELS KONFISCATOR_TAG_NODES
	if [ "$case" = overflow ]; then
		export KONFISCATOR_TAG_LEVELS=5 KONFISCATOR_TAG_NODES=20
	fi
	equal "$case" "all is billed" "$(run_under "$billing" "$case")"
	[ "$case" = short_threads ] && continue
	equal "$case, recorded" "all is billed" \
		"$(KONFISCATOR_RECORD=$WORK/$case.%p \
			run_under "$billing" "$case")"
	equal "$case, two heaps" "all is billed" \
		"$(KONFISCATOR_ARENA_MAX=2 run_under "$billing" "$case")"
done

engines | grep -vx firstfit >"$WORK/engines"
while read -r engine; do
	for case in $cases; do
		unset KONFISCATOR_TAG_LEVELS KONFISCATOR_TAG_NODES
		if [ "$case" = overflow ]; then
			export KONFISCATOR_TAG_LEVELS=5 KONFISCATOR_TAG_NODES=20
		fi
		equal "$case, $engine" "all is billed" \
			"$(KONFISCATOR_ENGINE=$engine \
				run_under "$billing" "$case" 2>&1)"
	done
done <"$WORK/engines"
unset KONFISCATOR_TAG_LEVELS KONFISCATOR_TAG_NODES
for case in cross moves sums; do
	equal "$case, system, recorded" "all is billed" \
		"$(KONFISCATOR_ENGINE=system KONFISCATOR_RECORD=$WORK/$case.%p \
			run_under "$billing" "$case" 2>&1)"
done

# What is recorded is all of it, tagged or not.
KONFISCATOR_RECORD=$WORK/all run_under "$top_builddir/tests/tags/stacks" \
	</dev/null >"$WORK/out"
"$KF_CLI" report "$WORK/all" | sed -n 's/^calls *//p' >"$WORK/calls"
tr -d ',' <"$WORK/calls" | awk '
	{ for (i = 1; i < NF; i += 2) n[$i] = $(i + 1) }
	# 23 rounds of two threads, and one call more in each.
	END { exit !(n["malloc"] >= 46 * 5 + 2 && n["aligned"] == 46 &&
		n["realloc"] == 46 && n["calloc"] >= 6 &&
		n["free"] >= 46 * 2) }' ||
	fail "the recording has only $(cat "$WORK/calls")"
