#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Views, merging and differences of a table of tags whose figures are known; a
# snapshot tells the same as the stats file that it was made of.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
needs jq jq
needs dot graphviz

cd "$WORK"

# table FILE KEY=VALUE...: the threads main and worker, and what is in them
table() {
	kf_file=$1
	shift
	mkstats "$kf_file" comm=server created=1700000000000000000 \
		tag=1:0:main tag=2:1:Top tag=3:2:B tag=4:2:A tag=5:4:B \
		tag=6:2:C tag=7:0:worker-1 tag=8:7:B tag=9:0:worker-2 \
		tag=10:9:B tag.1.allocated=1032 tag.1.mallocs=1 \
		tag.2.allocated=24 tag.2.entered=1 tag.2.left=1 \
		tag.3.allocated=504 tag.3.freed=504 tag.4.allocated=304 \
		tag.4.freed=100 tag.4.remote_freed=100 tag.4.peak=300 \
		tag.5.allocated=504 tag.5.freed=400 tag.6.allocated=100000 \
		tag.6.peak=100000 tag.6.mallocs=3 tag.6.frees=1 \
		tag.8.allocated=9000 tag.10.allocated=1000 \
		tag.10.entered=1 tag.10.failed=2 "$@"
}

cli_tags() {
	"$KF_CLI" tags "$@"
}

table one
{
	echo "# tree"
	cli_tags one
	echo "# tree, full and exact"
	cli_tags --full --bytes one
	echo "# flat"
	cli_tags --view=flat --bytes one
	echo "# flat, csv"
	cli_tags --view=flat --format=csv one
	echo "# aggregate"
	cli_tags --aggregate=^worker --full --no-header one
	table two tag.6.allocated=50000 tag.8.allocated=9100 tag=11:7:new \
		tag.11.allocated=7
	echo "# diff"
	cli_tags --diff --bytes one two
} >told
cmp "$top_srcdir/tests/cli/tags.golden" told || {
	diff -u "$top_srcdir/tests/cli/tags.golden" told || :
	fail "the views are not those of tags.golden"
}

# a snapshot has all that the file has
cli_tags --format=json one >one.json
cli_tags -o written.json one
for view in tree flat; do
	equal "$view of the snapshot" "$(cli_tags --view=$view --full one)" \
		"$(cli_tags --view=$view --full one.json)"
done
drop='del(.tmCurrentSnapshot)'
equal "snapshot of the snapshot" "$(jq -S "$drop" one.json)" \
	"$(cli_tags --format=json - <one.json | jq -S "$drop")"
equal "snapshot of -o" "$(jq -S "$drop" one.json)" \
	"$(jq -S "$drop" written.json)"
equal "fields" "1001 200 808 111264 4" "$(jq -r '.tree_for_TID1001 as $tree |
	$tree.scope_main.nestedScopes.scope_Top.nestedScopes.scope_A as $a |
	"\($tree.TID) \($a.nBytesSelfFreed) \($a.nBytesTotalAllocated) " +
	"\(.nTotalNetTrackedBytes) \($tree.nTreeLevels)"' one.json)"
cli_tags --diff one one.json >same
equal "lines without a change" 1 "$(wc -l <same | tr -d ' ')"

# what one run makes is the next one's input
equal "two steps" "$(cli_tags --aggregate=1\$ --aggregate=2\$ --full one)" \
	"$(cli_tags --aggregate=1\$ --format=json one |
		cli_tags --aggregate=2\$ --full -)"

# pictures, and the graph: a cluster a thread, a node for each place of a tag
cli_tags -o one.dot one
equal "clusters" 3 "$(grep -c 'subgraph cluster_TID' one.dot)"
equal "nodes" 10 "$(grep -c 'fillcolor=' one.dot)"
equal "edges" 7 "$(grep -c -e ' -> ' one.dot)"
equal "the graph" "$(sed "/taken/d" one.dot)" \
	"$(cli_tags --view=dot one | sed '/taken/d')"
dot -Tsvg one.dot >by-hand.svg || fail "dot does not take the graph"
cli_tags -o one.svg one
grep -q '<svg' one.svg || fail "one.svg is no picture"
cli_tags -o one.png one
[ "$(head -c 4 one.png | tail -c 3)" = PNG ] || fail "one.png is no PNG"

# a process that runs, by its pid
sleeper
table "stats/sleep.$pid.x" "pid=$pid"
equal "by pid" "$(cli_tags --full one | tail -n +2)" \
	"$(cli tags --full -p "$pid" | tail -n +2)"
cli stat --by=tag -a --format=csv --no-header --sort=tag >rows
equal "rows of tags" "A,104 B,10104 C,100000 Top,24 main,1032" \
	"$(awk -F, '{ printf "%s%s,%s", sep, $2, $4; sep = " " }' rows)"
equal "threads of B" 3 "$(awk -F, '$2 == "B" { print $3 }' rows)"

# what is wrong is told in a line
expect 2 cli tags one two
says "only one file can be given"
expect 2 cli tags --diff one
says "tags: --diff needs two files"
expect 2 cli tags --view=round one
says "'round' is not tree, flat or dot"
expect 2 cli tags -o one.gif one
says "'one.gif' does not end in .json, .dot, .svg, .png or .pdf"
expect 2 cli tags --aggregate='(' one
says "--aggregate: '('"
expect 0 cli tags --aggregate=nobody one
says "no thread matches 'nobody'"
expect 2 cli tags --format=csv one
says "--format=csv is for"
expect 2 cli tags -p "$pid" one
says "give a file or select a process, not both"
expect 3 cli tags -p 1
says "process 1 has no stats file"
expect 1 cli tags missing
says "missing: No such file"
expect 1 cli tags /dev/null
says "neither a stats file nor JSON"
echo '{"PID": 1}' >foreign.json
expect 1 cli tags foreign.json
says "not a snapshot of tags"
echo '{"nSchemaVersion": 99, "PID": 1, "tmCurrentSnapshot": ""}' >later.json
expect 1 cli tags later.json
says "snapshot version 99 is not supported: this konfiscator reads version 1"
mkstats none
expect 0 cli tags none
says "tags: no tags"
mkdir bin
expect 1 env PATH="$WORK/bin" "$KF_CLI" tags -o none.svg one
says "install graphviz"
[ ! -e none.svg ] || fail "a picture that was not drawn is there"
