#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Of a threaded, forking program SystemTap, bpftrace 0.23, the stats file and
# the exporter's page give the same counts, to the last event; every script of
# either tool is attached and sees something, a renamed probe is noticed, and
# promtool accepts the page that SystemTap serves.
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

need "${PROMTOOL:-promtool}"
observers() {
	verify bpftrace
	need_canary
	verify stap
}

# shellcheck disable=SC2034 # crowd.sh asks
CROWD_FORGETS=yes
crowd_traced trixie stap bpftrace
agreed trixie observers stap bpftrace
