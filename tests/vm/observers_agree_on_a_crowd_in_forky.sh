#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# In the newest Debian bpftrace 0.27, the stats file and the exporter's page
# agree on a threaded, forking program; the session of the article on glibc's
# malloc probes is had from a program with 15 threads, on our malloc, also by the
# article's script, and, by glibc-malloc.stp and konfiscator trace, on glibc's.
# limit: 1500
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/scripts/observers.sh
. "$top_srcdir/tests/scripts/observers.sh"
# shellcheck source=tests/scripts/crowd.sh
. "$top_srcdir/tests/scripts/crowd.sh"
# shellcheck source=tests/vm/machine.sh
. "$top_srcdir/tests/vm/machine.sh"

observers() {
	verify bpftrace
	if [ -e "$OUT/glibc-malloc.command.status" ]; then
		verify_session glibc-malloc.command
		equal "what the C library's own heap got" 1 \
			"$(lines '^Total sbrk: [1-9]')"
	else
		echo "konfiscator trace was not tried: no bpftrace outside"
	fi
	need_canary
	for name in malloc article glibc-malloc; do
		verify_session "$name.session"
		echo "$name.stp:"
		cat "$seen.out"
	done
	seen=$OUT/article.session
	equal "the sum of its heaps" \
		"$(awk '/^Total sbrk/ { print $3 }' "$seen.out")" \
		"$(awk '/ bytes$/ && / -> / { n += $3 }
			END { printf "%.0f\n", n }' "$seen.out")"
}

crowd_traced forky session bpftrace
agreed forky observers session bpftrace
