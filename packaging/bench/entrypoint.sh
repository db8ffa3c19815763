#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The container bench: a program under the library, its counters on a port.
#
#	entrypoint.sh [PROGRAM [ARGUMENT...]]
#
# The default program is a python3 that allocates and frees. The exporter serves
# until SIGTERM or SIGINT, also after the program has ended, so that its counts
# can be read; then both are ended. Environment:
#
#	KF_LIB		the library [what ldconfig or /usr/local/lib has]
#	KF_EXPORTER	the exporter [konfiscator_exporter]
#	KF_BENCH_LISTEN	the address served [:8000]
#	KF_BENCH_DIR	stats files and state [a new directory, removed at the end]
set -eu

: "${KF_EXPORTER:=konfiscator_exporter}"
: "${KF_BENCH_LISTEN:=:8000}"
if [ -z "${KF_LIB:-}" ]; then
	KF_LIB=$(ldconfig -p 2>/dev/null |
		sed -n 's/.*libkonfiscator\.so\.1 .*=> //p' | head -n 1)
	: "${KF_LIB:=/usr/local/lib/libkonfiscator.so.1}"
fi
if [ ! -r "$KF_LIB" ]; then
	echo "entrypoint.sh: KF_LIB: '$KF_LIB' cannot be read" >&2
	exit 1
fi

# Used by the default program.
# shellcheck disable=SC2016
work='
import time
kept = []
while True:
    kept.append([bytearray(n % 4000) for n in range(2000)])
    if len(kept) > 50:
        del kept[::2]
    time.sleep(0.2)
'
[ $# -gt 0 ] || set -- python3 -c "$work"

program=
exporter=
made=
# Called by the traps.
# shellcheck disable=SC2317
end()
{
	status=$?
	trap - EXIT INT TERM
	# the program and all that it started
	[ -z "$program" ] || kill -- "-$program" "$program" 2>/dev/null || :
	[ -z "$exporter" ] || kill "$exporter" 2>/dev/null || :
	for pid in $program $exporter; do
		wait "$pid" 2>/dev/null || :
	done
	# one that is just ending may still make its file
	tries=50
	while [ -n "$made" ] && ! rm -rf "$made" 2>/dev/null; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || break
		sleep 0.1
	done
	exit "$status"
}
trap end EXIT
trap 'exit 0' INT TERM

if [ -z "${KF_BENCH_DIR:-}" ]; then
	made=$(mktemp -d "${TMPDIR:-/tmp}/konfiscator-bench.XXXXXX")
	KF_BENCH_DIR=$made
fi
mkdir -p "$KF_BENCH_DIR/stats"

# LD_PRELOAD is split at blanks and colons, and knows no quoting.
preload=$KF_LIB
case $preload in
*[\ :]*)
	preload=$KF_BENCH_DIR/libkonfiscator.so
	ln -sf "$KF_LIB" "$preload"
	;;
esac

"$KF_EXPORTER" --web.listen-address="$KF_BENCH_LISTEN" \
	--stats.dir="$KF_BENCH_DIR/stats" \
	--stats.state-file="$KF_BENCH_DIR/state" &
exporter=$!
# A session of its own, so that its children can be ended with it.
setsid env KONFISCATOR_DIR="$KF_BENCH_DIR/stats" LD_PRELOAD="$preload" "$@" &
program=$!
status=0
wait "$exporter" || status=$?
echo "entrypoint.sh: the exporter ended with status $status" >&2
exit 1
