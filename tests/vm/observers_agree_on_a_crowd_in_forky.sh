#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# In the newest Debian bpftrace 0.27, the stats file and the exporter's page
# agree on a threaded, forking program; the session of the article on glibc's
# malloc probes is had from a program with 15 threads, on our malloc and, by
# glibc-malloc.stp, on glibc's.
# limit: 2400
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/scripts/observers.sh
. "$top_srcdir/tests/scripts/observers.sh"
# shellcheck source=tests/vm/machine.sh
. "$top_srcdir/tests/vm/machine.sh"

crowd_traced forky session bpftrace
verify bpftrace
need_canary
for name in malloc glibc-malloc; do
	verify_session "$name"
	echo "$name.stp:"
	cat "$seen.out"
done
