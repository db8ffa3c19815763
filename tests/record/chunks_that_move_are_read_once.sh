#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A thread that writes much moves what it has filled to the file's end. Each
# chunk is read once, also where the thread was killed while it did so; and who
# reads while it is moved reads all of it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

chunk=65536

expect 0 cli run --record "$WORK/heap" -- "$exchange" 2 200000
replay "$WORK/heap"
is anomalies 0
is twins 0
[ "$(found chunks)" -gt 60 ] || fail "only $(found chunks) chunks"
is free "$(counter frees)"

# report_of FILE: as JSON, which does not name the file
report_of() {
	expect 0 cli --format=json report "$1"
	equal "what it warns of" "" "$(cat "$WORK/err")"
	cat "$WORK/out"
}
report_of "$WORK/heap" >"$WORK/one"

# Four of the first chunks once more, whole and then not.
for last in 65536 30000; do
	cp "$WORK/heap" "$WORK/twins"
	dd if="$WORK/heap" bs=$chunk skip=5 count=3 2>/dev/null >>"$WORK/twins"
	dd if="$WORK/heap" bs=$chunk skip=8 count=1 2>/dev/null |
		head -c "$last" >>"$WORK/twins"
	truncate -s %$chunk "$WORK/twins"
	replay "$WORK/twins"
	is twins 4
	is anomalies 0
	report_of "$WORK/twins" >"$WORK/other"
	cmp "$WORK/one" "$WORK/other" || fail "twins are read twice"
done

# While it goes on, a report ends where it began: no free is without its malloc.
export KONFISCATOR_RECORD_MAX=256M
start_exchange "$WORK/live"
for _ in 1 2; do
	expect 0 cli report --view=anomalies "$WORK/live"
	equal "what report says" "no anomalies" "$(cat "$WORK/out")"
	if grep damaged "$WORK/err"; then fail "chunks were not found"; fi
done
kill -9 "$pid"
end_exchange 137
