# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of cases.c share; follows tests/lib.sh and workdir.
#
#   cases ARG...	run it with its blocks sampled, $WORK/truth is what it
#			says, $WORK/said what comes on stderr; $CASES_ENV are
#			variables, words
#   table FILE		the table of stacks of a stats file, on stdout
#   sites TABLE [FLAWED]
#			fail unless the table has each site that was told, with
#			its number of samples, and each large block's stack is
#			whole: it ends as one of its kind does. Those of FLAWED
#			bytes, as asked for, may have none
#   word COUNTER	a number of all its processes

cases() {
	rm -rf "$WORK/stats"/*
	# shellcheck disable=SC2086 # words
	KONFISCATOR_SAMPLE=1K run_under env ${CASES_ENV-} \
		"$top_builddir/tests/sample/cases" "$@" \
		>"$WORK/truth" 2>"$WORK/said" ||
		fail "cases $*: status $?: $(cat "$WORK/said")"
}

table() {
	"$top_builddir/tests/sample/stacks" "$1" || fail "$1 has no table"
}

sites() {
	awk -v flawed="${2-0}" '
	function whole(nr, end) {
		if ($1 >= flawed && $1 < flawed + 4096)
			return nr == 0 || end in ends
		return nr >= 3 && ($6 == 0 || $6 == 64) && end in ends
	}
	FNR == NR && $1 == "bytes" { truth[$2] = $3 }
	FNR == NR && $1 == "end" { ends[$2] = 1 }
	FNR == NR || $1 < 90000 { next }
	{ found[$1] += $4 }
	!whole($7, $NF) { print "not as it should be: " $0; wrong = 1 }
	END {
		for (size in truth) {
			looked_at++
			if (found[size] == truth[size])
				continue
			print size ": " truth[size] " blocks, " \
				found[size] + 0 " samples"
			wrong = 1
		}
		exit wrong || !looked_at
	}' "$WORK/truth" "$1" || fail "the table is not that of the program"
}

word() {
	"$KF_CLI" stat -a --format=json -n cases | jq ".[0].$1"
}
