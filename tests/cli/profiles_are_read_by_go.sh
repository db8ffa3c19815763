#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# go's pprof reads a profile: its amounts, functions with their inlined calls,
# files, labels, and what the program was made of.
. "$top_srcdir/tests/lib.sh"
needs go golang-go
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"

# pprof writes into the home; nothing is to be downloaded.
HOME=$WORK
GOFLAGS=-mod=mod
GOPROXY=off
export HOME GOFLAGS GOPROXY

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64 boot
stacks cache 90000000 60000000 4096 work
stacks inlined 8000000 1000000 512
expect 0 "$KF_CLI" report -o out.pb.gz stats/mkstacks.1
stacks_end

pprof() {
	go tool pprof -unit=bytes "$@" out.pb.gz >out 2>err ||
		fail "pprof $*: $(cat err)"
}

# row FUNCTION: its own amount, and what it called, too
row() {
	awk -v name="$1" '
		{ sub(/ \(inline\)$/, ""); gsub(/bytes/, "") }
		$NF == name { print $1, $4 }' out
}

pprof -top -sample_index=inuse_space
equal "live" "30000000B 30000000B" "$(row cache)"
equal "live" "20000000B 20000000B" "$(row leaky)"
equal "inlined" "7000000B 7000000B" "$(row inmost)"
equal "its caller" "0 7000000B" "$(row outer)"
equal "main" "0 57000000B" "$(row main)"
pprof -top -sample_index=alloc_space
equal "allocated" "90000000B 90000000B" "$(row cache)"
pprof -top -sample_index=inuse_objects
equal "blocks" "312500 312500" "$(row leaky)"
pprof -top -sample_index=inuse_space -tagfocus=tag=boot
equal "under a tag" "0 20000000B" "$(row main)"
equal "not under a tag" "" "$(row cache)"
pprof -traces
grep -q "^ *comm:  *main$" out || fail "no name of a thread: $(cat out)"
pprof -raw
grep -q "mkstacks.c:[0-9]" out || fail "no line of the source"
grep -Eq "/mkstacks [0-9a-f]{40}( |$)" out ||
	fail "no build id: $(sed -n '/^Mappings/,$p' out)"
