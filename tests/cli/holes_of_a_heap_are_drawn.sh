#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# explain --map draws how full each stretch of the heap is: its sums are those
# of the other counters, a heap of leftovers looks empty where a heap of live
# blocks looks full, and what is not known is said.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

begin() {
	rm -f "$WORK/in"
	mkfifo "$WORK/in"
	KONFISCATOR_SAMPLE=0 run_under_exec "$@" \
		<"$WORK/in" >"$WORK/said" 2>&1 7>&- &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	exec 7>"$WORK/in"
	wait_for 120 sh -c "grep -q ready $WORK/said ||
		ls $WORK/stats/cat.$pid.*" || fail "$*: not ready"
}

finish() {
	exec 7>&-
	wait "$pid" || fail "the program ended with status $?"
}

# holds EXPRESSION
holds() {
	[ "$(jq ".[0] | $1" "$WORK/json")" = true ] ||
		fail "not $1 in: $(jq -c '.[0]' "$WORK/json" | cut -c 1-3000)"
}

begin "$top_builddir/tests/cli/pins" query
# Without samples and without a map there is nothing to write.
for to in page.html x.folded x.svg x.pb.gz x.json; do
	expect 1 cli report -o "$WORK/$to" -p "$pid"
	says "has no samples: sampling was off"
	says "konfiscator ctl $pid sample=64K takes more"
	[ ! -e "$WORK/$to" ] || fail "$to was written"
done
expect 1 cli report --serve -p "$pid"
says "konfiscator ctl $pid sample=64K takes more"
# Only one process can be drawn, and not in rows.
expect 2 cli explain --map -w 0 --format=csv -p "$pid"
says "explain: --map has no form in csv: use --format=json"
expect 2 cli explain --pinned -w 0 --format=csv -p "$pid"
says "explain: --pinned has no form in csv: use --format=json"
[ ! -s "$WORK/out" ] || fail "rows without a map: $(cat "$WORK/out")"
expect 0 cli explain --map -w 0 --format=json -p "$pid"
cp "$WORK/out" "$WORK/json"
# Nine of a hundred blocks of the query are left, in slabs all over the heap.
# The program goes on between the map and the counters.
# shellcheck disable=SC2016 # the names with $ are jq's
holds '[.map.regions[].cells[]] as $c | def sum(i): [$c[] | .[i]] | add;
	def near(a; b): a - b | fabs < 1000000;
	near(sum(0); .live_bytes + .rounding_bytes + .bins_bytes) and
	near(sum(1); .half_empty_bytes - .bins_bytes) and
	near(sum(0) + sum(1) + sum(2); .held_bytes - .metadata_bytes)'
# shellcheck disable=SC2016
holds '.map.cell_bytes as $n | [.map.regions[] |
	(.cells | map(add)) as $len | ($len | add) == .bytes and
	($len[:-1] | all(. == $n)) and $len[-1] <= $n and $len[-1] > 0] | all'
holds '(now - .map.noted_at) | . >= 0 and . < 60'
expect 0 cli explain --map -w 0 -p "$pid"
prints "map: "
prints "each character is 16.0Ki: . without memory, 0 not in use, 1 to 9 tenths"
awk '/^0x/ { drawn = 1; next }
	/^  / && drawn { gsub(/ /, ""); all = all $0 }
	END {
		ones = gsub(/[12]/, "", all)
		exit !(ones > 1000 && ones > 3 * length(all))
	}' "$WORK/out" || fail "the leftovers of the query are not to be seen"
KONFISCATOR_DIR=$WORK/stats expect 0 cli ctl -p "$pid" map=now
prints " cells of 16384 bytes are mapped"
# The page of a report has the picture.
expect 0 cli report -o "$WORK/page.html" -p "$pid"
grep -q "Map of the heap" "$WORK/page.html" || fail "the page has no map"
grep -q "Each cell is <span title=\"16384 bytes\">16.0 KiB</span>" \
	"$WORK/page.html" || fail "the page has another map"
grep -q '<path class="m1" d="M' "$WORK/page.html" ||
	fail "the leftovers are not in the page"
grep -q "<code>konfiscator ctl $pid map=now</code> notes it again" \
	"$WORK/page.html" || fail "the page does not say how to note it again"
expect 1 cli report -o "$WORK/x.folded" -p "$pid"
expect 2 cli ctl -p "$pid" map=often
says "map: 'often' is not now"
finish

# The last map stays in the file.
file=$(find "$WORK/stats" -name "*.$pid.*" | head -n 1)
[ -n "$file" ] || fail "the file of the process is gone"
expect 0 cli explain --map "$file"
prints "each character is 16.0Ki"
expect 0 cli report -o "$WORK/ended.html" "$file"
grep -q '<path class="m1" d="M' "$WORK/ended.html" ||
	fail "the page of the file has no map"
! grep -q "map=now" "$WORK/ended.html" ||
	fail "the page of the file offers an order"

# Above it is what the process noted of its history: 2 MiB, a half, and the end.
mkdir "$WORK/old"
mkstats "$WORK/old/a.1" moment=1000:2097152:4194304 \
	moment=3000:1048576:4194304 cell=1:1048576:4096:0:0:0 \
	blocks=16:4:0 seen_at=3001
expect 0 cli report -o "$WORK/old.html" "$WORK/old/a.1"
tr -d '\n' <"$WORK/old.html" | grep -qF 'class="live"><polyline fill="none" stroke-width="1.5" points="399.9,80.0 1199.6,120.0 ' ||
	fail "no curve of two moments: $(grep polyline "$WORK/old.html")"
grep -q '>in use</text>' "$WORK/old.html" || fail "the curve has no name"
! grep -q '>resident</text>' "$WORK/old.html" ||
	fail "a curve that is not known is drawn"

# What is not there is said.
begin cat
expect 0 cli explain --map -w 0 -p "$pid"
says "did not answer"
prints "not known: a map of the heap: the process has not answered"
expect 0 cli explain --map -w 0 --format=json -p "$pid"
cp "$WORK/out" "$WORK/json"
holds '.map == null'
finish
KONFISCATOR_ENGINE=tlsf
export KONFISCATOR_ENGINE
begin "$top_builddir/tests/cli/pins" query
expect 1 cli explain --map -w 0 -p "$pid"
says "cannot map its heap: only the engine firstfit has a map"
finish
