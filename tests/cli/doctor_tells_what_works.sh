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
	if [ "$(id -u)" != 0 ]; then
		row bpftrace warning
	elif [ "$probes" -gt 0 ] && "$KF_CLI" trace malloc -- sh -c : \
		>"$WORK/malloc" 2>&1 && grep -q "New heap" "$WORK/malloc"; then
		row bpftrace ok
		prints "saw a program's heap grow"
	fi
else
	row bpftrace missing
fi
equal "left in TMPDIR or /tmp" "" "$(ls -d /tmp/konfiscator-doctor.$$* \
	"$TMPDIR"/konfiscator-doctor* 2>/dev/null || true)"

# A tracer that is installed, and sees nothing, is not ok.
if [ "$(id -u)" = 0 ]; then
	mkdir "$WORK/bin"
	cat >"$WORK/bin/bpftrace" <<'END'
#!/bin/sh
[ "$1" != --version ] || exec echo "bpftrace v9"
echo "ERROR: couldn't set RLIMIT_MEMLOCK for bpftrace" >&2
echo "ERROR: no BPF here" >&2
exit 1
END
	cat >"$WORK/bin/stap" <<'END'
#!/bin/sh
[ "$1" != --version ] || exec echo "SystemTap 9"
echo "Pass 4: compilation failed.  [man error::pass4]" >&2
exit 1
END
	chmod 755 "$WORK/bin/bpftrace" "$WORK/bin/stap"
	expect 0 env PATH="$WORK/bin:$PATH" "$KF_CLI" doctor
	row bpftrace missing
	if [ "$probes" -gt 0 ] && [ -d /sys/bus/event_source/devices/uprobe ]
	then
		prints "bpftrace v9: ERROR: no BPF here"
	fi
	row stap missing
	prints "SystemTap 9: this SystemTap does not compile for the kernel"
fi

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
