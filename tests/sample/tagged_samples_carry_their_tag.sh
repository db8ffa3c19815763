#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A block that is allocated under a tag and sampled is billed to both: stacks
# have the tag that was entered, and the tags have to the byte what they have
# without samples.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/sample/cases.sh
. "$top_srcdir/tests/sample/cases.sh"

# flat OUT: the tags' own table
flat() {
	"$KF_CLI" --format=csv tags --view=flat "$WORK/stats/cases".* |
		sed 's/thread [0-9]*/thread/' >"$1" || fail "no tags"
}

cases tagged
table "$WORK/stats/cases".* >"$WORK/table"
sites "$WORK/table"
flat "$WORK/sampled"

# by METRIC TAG: the bytes of a tag, by samples
by() {
	"$KF_CLI" --format=csv report --group=tag --metric="$1" \
		"$WORK/stats/cases".* 2>/dev/null |
		awk -F, -v tag="$2" '$6 == tag { print $1 }'
}
equal "red, live" $((23 * 241664)) "$(by live red)"
equal "red, ever" $((23 * 241664)) "$(by alloc red)"
equal "blue in red, live" $((11 * 262144)) "$(by live red/blue)"
equal "blue in red, ever" $((11 * 262144 + 282624)) "$(by alloc red/blue)"

CASES_ENV=KONFISCATOR_SAMPLE=0 cases tagged
flat "$WORK/counted"
grep -q "red" "$WORK/counted" || fail "no tag: $(cat "$WORK/counted")"
diff "$WORK/counted" "$WORK/sampled" || fail "samples change what is billed"
