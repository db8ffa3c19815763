#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The trees of the examples are those that their source asks for, byte for byte:
# in what they write themselves, and in the stats file that they leave behind.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
needs jq jq

# A block of n bytes has the next of 16, 32, ... 1024, then of eight a doubling.
# tree FILE ARG...: the tree without the numbers of threads
tree() {
	"$KF_CLI" tags --full --bytes --no-header "$@" |
		sed 's/ (thread [0-9]*)/ (thread)/'
}

for name in minimal minimal_cxx multithread; do
	run_under "$top_builddir/examples/$name" "$WORK/$name.json"
	echo "# $name" >>"$WORK/told"
	tree "$WORK/$name.json" >>"$WORK/told"
done
# Those of C++ free what they have when they end.
equal "the stats file's tree" "$(tree "$WORK/minimal.json")" \
	"$(tree "$WORK/stats/minimal".[0-9]*)"
equal "what lives in the stats file of minimal_cxx" 0 \
	"$(tree "$WORK/stats/minimal_cxx".* | awk 'NR == 1 { print $1 }')"

# Which worker does what is chance, their sum is not.
run_under "$top_builddir/examples/worker_pool" "$WORK/pool.json"
echo "# worker_pool" >>"$WORK/told"
tree --aggregate=^worker/ "$WORK/pool.json" >>"$WORK/told"
cmp "$top_srcdir/tests/examples/trees.golden" "$WORK/told" || {
	diff -u "$top_srcdir/tests/examples/trees.golden" "$WORK/told" || :
	fail "the trees are not those of trees.golden"
}

# Calls are told apart, and realloc takes what was there.
equal "calls of FuncA and FuncC" "1 1 0 1 0 0 1" "$(jq -r '
	[.. | objects | .scope_FuncA // empty] [0] as $a |
	[.. | objects | .scope_FuncC // empty] [0] as $c |
	"\($a.nCallsTo_malloc) \($a.nCallsTo_realloc) \($a.nCallsTo_free) " +
	"\($a.nBlocksResized) \($c.nCallsTo_malloc) \($c.nCallsTo_realloc) " +
	"\($c.nCallsTo_calloc)"' "$WORK/minimal.json")"
