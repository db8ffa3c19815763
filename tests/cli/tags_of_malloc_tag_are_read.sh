#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A snapshot that malloc-tag wrote is read, and what is written of it has every
# field that it had, with the value that it had.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
needs jq jq

cd "$WORK"
theirs=$top_srcdir/tests/cli/malloc-tag.json
"$KF_CLI" tags --format=json "$theirs" >ours.json

# "path value" of each leaf
leaves() {
	jq -r 'paths(scalars) as $p | "\($p | join("/")) \(getpath($p))"' "$1"
}

leaves "$theirs" | sort >wanted
leaves ours.json | sort >got
[ "$(wc -l <wanted)" -ge 30 ] || fail "malloc-tag.json has too few fields"
equal "what is missing" "" "$(comm -23 wanted got)"

"$KF_CLI" tags --full --bytes --no-header "$theirs" >tree
equal "the tree" "4000 100.00 1000 0 1000 app|3000 75.00 3000 0 3500 load" \
	"$(awk '{ printf "%s%s %s %s %s %s %s", sep, $1, $2, $3, $4, $5, $6
		sep = "|" }' tree)"
