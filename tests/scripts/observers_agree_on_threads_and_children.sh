#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Of a threaded, forking program this machine's bpftrace, the stats files and
# the exporter's page give the same counts, to the last event; every script of
# bpftrace is attached and sees something, and a renamed probe is noticed.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
# shellcheck source=tests/scripts/observers.sh
. "$top_srcdir/tests/scripts/observers.sh"
# shellcheck source=tests/scripts/crowd.sh
. "$top_srcdir/tests/scripts/crowd.sh"
need_tracing
copy_library
OUT=$WORK/out
mkdir "$OUT"

for script in "$top_srcdir"/scripts/bpftrace/*.bt; do
	trace_crowd "$script" || fail "${script##*/} cannot trace here"
done
plant "$top_srcdir/scripts/bpftrace/frag.bt" "$WORK/planted.bt"
trace_crowd "$WORK/planted.bt" || :
verify bpftrace
