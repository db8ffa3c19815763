#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recording that keeps its end has its largest size and what the program did
# last, after a SIGKILL too; what it says of that is whole, and what came before
# is not guessed.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"
. "$top_srcdir/tests/cli/report.sh"

# fits FILE BYTES
fits() {
	kf_size=$(wc -c <"$1")
	[ "$kf_size" -le "$2" ] || fail "$1 has $kf_size bytes, $2 are allowed"
}

# whole FILE: no event of its end is missing, as a block would come twice
whole() {
	replay "$1"
	is anomalies 0
	is torn 0
	is dropped 0
	is full 0
	expect 0 cli report --view=anomalies "$1"
	equal "what report says of $1" "no anomalies" "$(cat "$WORK/out")"
	grep -q "it begins after [0-9.]* s, earlier events were overwritten" \
		"$WORK/err" || fail "$1: $(cat "$WORK/err")"
	if grep -q damaged "$WORK/err"; then
		fail "$1: $(cat "$WORK/err")"
	fi
	[ "$(found events)" -gt 10000 ] || fail "$1: $(found events) events"
	echo "$1: $(found events) events, $(found lost) before," \
		"$(found unknown) unknown, $(found twins) twins"
}

# ended FILE SIZE THREADS ROUNDS: to its end, when all blocks are freed
ended() {
	rm -f "$1"
	expect 0 cli run --record "$1" --record-max "$2" --record-ring 1 -- \
		"$exchange" "$3" "$4"
	fits "$1" $((${2%M} * 1048576))
	whole "$1"
	equal "threads' blocks of $1 that are live" 0 "$(cli --format=json report \
		--size=5000-300000 "$1" | sed -n 's/.*"live_blocks": \([0-9]*\).*/\1/p')"
	# the two readers agree on the frees of blocks from before
	equal "blocks from before" "$(found unknown)" "$(sed -n \
		's/.*left out: \([0-9]*\) of them.*/\1/p' "$WORK/err")"
}

ended "$WORK/small" 2M 4 100000
ended "$WORK/one" 4M 1 400000
ended "$WORK/many" 8M 32 40000

# One that is large enough loses nothing.
expect 0 cli run --record "$WORK/all" --record-max 256M --record-ring 1 -- \
	"$exchange" 4 5000
replay "$WORK/all"
is anomalies 0
is lost 0
is unknown 0
expect 0 cli report "$WORK/all"
equal "what report warns of" "" "$(cat "$WORK/err")"

export KONFISCATOR_RECORD_MAX=6M KONFISCATOR_RECORD_RING=1
for i in 1 2 3 4 5; do
	start_exchange "$WORK/killed.$i"
	sleep 1.$i
	kill -9 "$pid"
	end_exchange 137
	fits "$WORK/killed.$i" 6291456
	whole "$WORK/killed.$i"
done

# Not one place for each of the threads: it ends, as one that is full.
KONFISCATOR_RECORD_MAX=512K
start_exchange "$WORK/tiny"
kill -9 "$pid"
end_exchange 137
replay "$WORK/tiny"
is full 27
is torn 0

# A replay plays what is known.
expect 0 cli --format=json replay "$WORK/killed.1"
grep -q "are unknown and left out" "$WORK/err" || fail "$(cat "$WORK/err")"
equal "failed calls" 0 "$(sed -n 's/.*"failed_calls": \([0-9]*\).*/\1/p' "$WORK/out")"

unset KONFISCATOR_RECORD_RING KONFISCATOR_RECORD_MAX

# A known one. Before its begin 2 blocks were made, of which one goes later, as
# does one that was made in a chunk that is lost; 4 MiB were held at its begin.
cat >"$WORK/script" <<'END'
from-start
before 0 0 1000 99999999
kept-from 5000
1 100 thread 11
2 100 thread 12
0 200 held 8388608
0 300 held 4194304
1 1000 malloc 0x10000 100
2 1500 malloc 0x20000 100
2 5000 free 0x20000
1 6000 free 0x10000
1 7000 malloc 0x30000 500
2 8000 free 0x40000
2 9000 malloc 0x40000 20
1 9100 free 0x30000
0 9200 held 5242880
END
mkrecording "$WORK/known" <"$WORK/script"
expect 0 cli report "$WORK/known"
for line in "^time         4.20us from" "malloc 2, calloc 0, .* free 3," \
	"^peak live    520 in 2 blocks, at 9.00us" \
	"^peak held    5.00Mi .* at 9.20us" \
	"^live at end  20 in 1 block" "^anomalies    0"; do
	grep -q "$line" "$WORK/out" || fail "$line: $(cat "$WORK/out")"
done
says "it begins after 5e-06 s"
says "left out: 2 of them were freed later"
expect 0 cli report --view=timeline "$WORK/known"
grep -q "^5.00us  *0  *0  *0  *4.00Mi" "$WORK/out" || fail "$(cat "$WORK/out")"
