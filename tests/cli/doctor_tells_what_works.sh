#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# doctor ends with 0 where programs can be run, and says what is missing.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

row() {
	grep -q "^$1  *$2 " "$WORK/out" || {
		cat "$WORK/out"
		fail "doctor does not call $1 $2"
	}
}

expect 0 cli doctor sh
row library ok
row preload ok
row directory ok
row scripts ok
row sh ok
probes=$(readelf -n "$KF_LIB" 2>/dev/null | grep -c 'Provider: konfiscator$') ||
	true
if [ "$probes" -gt 0 ]; then
	prints "$probes probe sites in the library"
else
	row probes missing
fi
if command -v bpftrace >/dev/null 2>&1; then
	prints "bpftrace v"
else
	row bpftrace missing
fi
equal "left in TMPDIR or /tmp" "" "$(ls -d /tmp/konfiscator-doctor.$$* \
	"$TMPDIR"/konfiscator-doctor* 2>/dev/null || true)"

expect 1 env KONFISCATOR_LIBRARY=/no/such.so "$KF_CLI" doctor
row library missing
prints /no/such.so
expect 1 env KONFISCATOR_LIBRARY=/bin/sh "$KF_CLI" doctor
row preload missing
expect 1 cli doctor no-such-program
prints "not found"
expect 0 env KONFISCATOR_SCRIPTS=/no/such/dir "$KF_CLI" doctor
row scripts missing
expect 0 cli --format=json doctor
"$PYTHON3" -c 'import json, sys; json.load(open(sys.argv[1]))' "$WORK/out"
