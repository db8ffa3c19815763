#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A profile of several processes: views and formats add them up or tell them
# apart, intervals are those of sums, and any part of the file can be read. A
# reader that knows one process only finds the first one.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
unset KONFISCATOR_KEEP
KONFISCATOR_SAMPLE_SEED=1
export KONFISCATOR_SAMPLE_SEED
needs jq jq
needs protoc protobuf-compiler
[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"
cd "$WORK"
ln -s "$top_builddir/tests/cli/kin" one
ln -s "$top_builddir/tests/cli/kin" two

ours() {
	"$KF_CLI" report -q "$@"
}
expect 0 cli record --sample=64K -o p -- sh -c "'$WORK/one' hold 100
	'$WORK/two' hold 200; exit 0"
expect 0 cli record --sample=64K -o q -- sh -c "'$WORK/one' hold 300; exit 0"

# intervals
ours --format=json --group=process --metric=alloc p >apart
ours --format=json --metric=alloc p >all
jq -e --slurpfile apart apart '
	(.[] | select(.group == "held")) as $sum |
	[$apart[0][] | select(.group | test("^(one|two) "))] as $each |
	($each | length) == 2 and
	(($each | map(.allocated_bytes) | add) - $sum.allocated_bytes |
		fabs) <= 2 and
	(($each | map(.error_95 * .error_95) | add | sqrt) - $sum.error_95 |
		fabs) <= 2 and $sum.error_95 > 0' all >jq.out ||
	fail "sums: $(cat apart all)"
"$KF_CLI" report -q --metric=count --group=process p >counts
grep -q "^ *[0-9.]*  *[0-9.]* .* two (" counts || fail "counts: $(cat counts)"

# what adds up is as much as that of one process
expect 0 cli diff --metric=alloc p q
! grep -q held "$WORK/out" || fail "they differ: $(cat "$WORK/out")"

# trees and flame graphs
ours --view=tree p >tree
grep -q "  one$" tree || fail "no root for a process: $(cat tree)"
ours --metric=alloc -o o.folded p
grep -q '^one;.*;main;held [0-9]*$' o.folded || fail "$(cat o.folded)"
grep -q '^two;.*;main;held [0-9]*$' o.folded || fail "$(cat o.folded)"
ours --metric=alloc --process=two -o two.folded p
! grep -q '^two;\|^one;' two.folded || fail "one process has a name of its own"
ours --metric=alloc --group=process -o pids.folded p
grep -q '^two ([0-9]*);.*;held [0-9]*$' pids.folded || fail "$(cat pids.folded)"
ours --group=lib --metric=alloc -o lib.folded p
grep -q '^two;kin;libc.so.6;kin [0-9]*$' lib.folded || fail "$(cat lib.folded)"
ours -o o.html p
grep -q '<td>one ([0-9]*)</td>' o.html || fail "the page has no process"
grep -q '<title>two' o.html || fail "the page's flame graph has no process"

# formats of others
ours -o o.pb.gz p
gzip -dc <o.pb.gz | protoc --decode=Profile \
	--proto_path="$top_srcdir/tests/fixture" published.proto >pprof.txt ||
	fail "protoc does not read it"
for text in process 'one ([0-9]*)' 'two ([0-9]*)'; do
	grep -q "^string_table: \"$text\"" pprof.txt || fail "no '$text' in it"
done
ours --metric=live -o o.perfetto-trace p
ours --raw --no-fold --metric=live -o o.json p
"$PYTHON3" "$top_srcdir/tests/cli/read_perfetto.py" o.perfetto-trace o.json ||
	fail "perfetto's trace differs"
jq -e '[.sites[].process | split(" ")[0]] | unique | contains(["one", "two"])' \
	o.json >jq.out || fail "JSON has no processes"
ours -o o.speedscope.json p
jq -e '[.shared.frames[].name] | contains(["one", "two"])' \
	o.speedscope.json >jq.out || fail "speedscope has no processes"
ours -o o.firefox.json p
jq -e '.threads[0].stringArray | contains(["one", "two"])' \
	o.firefox.json >jq.out || fail "Firefox has no processes"
ours -o o.csv p
head -n 1 o.csv | grep -q ",thread,process,stack$" || fail "$(head -n 1 o.csv)"
ours -o o.massif p
! grep -q "one (in" o.massif || fail "massif's tree has processes"

# levels over time, and a row for each process
ours --view=timeline --metric=alloc --format=json p >levels
jq -e '[.[].time_seconds] | . == sort and length == (unique | length)' levels \
	>jq.out || fail "times: $(cat levels)"
jq -e '.[-1].value == ([.[].value] | max) and .[-1].value > 10000000' levels \
	>jq.out || fail "values: $(cat levels)"
ours --view=summary p >sum
equal "processes" 2 "$(grep -c '^one .* yes$\|^two .* yes$' sum)"

# each process has ages of its own, a child none of what its parent allocated
expect 0 cli record --sample=1 -o kin -- "$WORK/one" hold 100 fork 2 30 hold 10
ours --view=ages --format=json kin >ages
jq -e '[.[] | [(.stack | split(" <")[0:2] | join(" <")), .live_samples,
	.live_samples_with_age]] |
	. == [["held < main", 100, 100], ["held < held_by_child", 20, 20]]' \
	ages >jq.out || fail "ages of three processes: $(cat ages)"
ours -o kin.json kin
equal "ages in JSON" "10 10 100" \
	"$(jq -r '[.sites[].ages.live_samples] | sort | join(" ")' kin.json)"

# nothing of a process that has ended is live while the program goes on
expect 0 cli record --sample=64K -o late -- sh -c "'$WORK/one' hold 100
	sleep 1"
ours --view=timeline --format=json late >levels_late
ours --view=ages --process=one --format=json \
	--at="$(jq '.[-2].time_seconds' levels_late)" late >ages
jq -e 'length > 0 and all(.[]; .live_samples_with_age == 0 and
	.oldest_seconds == null and .live_to_1s_bytes == 0)' ages >jq.out ||
	fail "live blocks of an ended process have ages: $(cat ages)"
ours --view=ages --process=one --format=json late >ages
jq -e 'any(.[]; .live_samples_with_age > 0)' ages >jq.out ||
	fail "at the end what it left has no ages: $(cat ages)"

# any part of it
whole=$(wc -c <p)
for bytes in $(seq 504 97 "$whole"); do
	head -c "$bytes" p >part
	kf_got=$(status_of "$KF_CLI" report part)
	[ "$kf_got" -le 1 ] || fail "$bytes bytes: status $kf_got"
done
# kinds 9 and 10 are skipped by readers that do not know them
"$PYTHON3" - <<'END'
import struct
data = open("p", "rb").read()
major, minor, size = struct.unpack_from("HHI", data, 8)
assert (major, minor) == (1, 2)
kinds, at = [], size
while at < len(data):
    kind, length = struct.unpack_from("II", data, at)
    assert length % 8 == 0 and length >= 8
    kinds.append(kind)
    if kind in (9, 10):
        data = data[:at] + struct.pack("I", 99) + data[at + 4:]
    at += length
assert at == len(data) and kinds.count(9) == 2 and kinds.count(10) >= 2, kinds
open("old", "wb").write(data)
END
ours --view=summary --format=json old >sum
jq -e 'length == 1 and .[0].program == "sh"' sum >jq.out ||
	fail "the first process is not there: $(cat sum)"
