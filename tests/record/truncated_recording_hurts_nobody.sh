#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recording that is cut short, removed or replaced under its writers hurts
# nobody, and what is put in its place is not written to.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

start_exchange "$WORK/cut"
sleep 0.1
: >"$WORK/cut"
sleep 0.2
expect 0 cli ctl "$pid" "record=$WORK/again"
sleep 0.1
end_exchange 0
equal "bytes of the file that was cut" 0 "$(wc -c <"$WORK/cut" | tr -d ' ')"
replay "$WORK/again"
is anomalies 0

start_exchange "$WORK/gone"
rm "$WORK/gone"
echo precious >"$WORK/gone"
sleep 0.2
end_exchange 0
equal "what is in its place" precious "$(cat "$WORK/gone")"
