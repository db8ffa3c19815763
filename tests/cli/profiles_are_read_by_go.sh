#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
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

# It opens on what is not empty, and says what it is.
pprof -raw
cp out marked
grep -q "^Comment: konfiscator .*: estimates from samples" out || fail "no comment: $(cat out)"
grep -q "^Comment: mkstacks, process $pid, " out || fail "the program is not told: $(cat out)"
grep -q "inuse_space/bytes\[dflt\]" out || fail "live memory is not the default"
rm -f orders answers stats/mkstacks.1
stacks_begin
stacks leaky 20000000 20000000 64
expect 0 "$KF_CLI" report -o out.pb.gz stats/mkstacks.1
stacks_end
pprof -top
equal "the default where nothing is live" "20000000B 20000000B" "$(row leaky)"

# What has no names is a bare location, in a mapping that is not marked, so that
# pprof may look for names. Its flags are those of what is there.
needs objcopy binutils
grep "/mkstacks " marked | grep -q "\[FN\]\[FL\]\[LN\]" ||
	fail "a mapping with names is not marked: $(cat marked)"
objcopy -S "$top_builddir/tests/fixture/mkstacks" bare
rm -f orders answers stats/mkstacks.1
mkstacks=$WORK/bare
stacks_begin
stacks cache 90000000 60000000 4096
expect 0 "$KF_CLI" report -o out.pb.gz stats/mkstacks.1
stacks_end
pprof -raw
! grep -q "bare+0x" out || fail "an address is a function: $(cat out)"
grep -Eq "^ *[0-9]+: 0x[0-9a-f]+ M=[0-9]+ *$" out || fail "no bare location: $(cat out)"
grep -q "/bare " out || fail "no mapping: $(cat out)"
! grep "/bare " out | grep -q "\[FN\]" || fail "a mapping without names is marked"
