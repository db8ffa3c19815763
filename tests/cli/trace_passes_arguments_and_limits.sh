#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A script gets library, process and what --arg says, in this order, from either
# tracer; bpftrace is told how many keys a map may have, unless the user has
# said that. Stand-ins for the tracers tell what they were given. What bpftrace
# says of probes that are gone already is kept from the user.
. "$top_srcdir/tests/lib.sh"
grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
	skip "the library was built with --disable-probes"
[ "$(id -u)" = 0 ] || skip "konfiscator runs bpftrace as root only"
workdir
. "$top_srcdir/tests/cli/cli.sh"
unset BPFTRACE_MAP_KEYS_MAX BPFTRACE_MAX_MAP_KEYS

mkdir "$WORK/bin"
cat >"$WORK/bin/bpftrace" <<END
#!$PYTHON3
import os, signal, sys
signal.signal(signal.SIGINT, lambda *a: sys.exit(0))
print(len(sys.argv), *sys.argv[2:], sep="|")
print("keys", os.environ["BPFTRACE_MAP_KEYS_MAX"],
      os.environ["BPFTRACE_MAX_MAP_KEYS"])
print("script", sys.argv[1])
print("ready", flush=True)
print(sys.argv[1] + ":1:2-3: WARNING: of the script\n  a line\n  ~~~~\n"
      "open(/sys/kernel/tracing/uprobe_events): No such file\nWARNING: a word\n"
      "ERROR: failed to detach probe: usdt:x", file=sys.stderr, flush=True)
while True:
    signal.pause()
END
cat >"$WORK/bin/stap" <<'END'
#!/bin/sh
[ "$1" != -p4 ] || exit 0
while [ "${1%.stp}" = "$1" ]; do
	shift
done
shift
printf '%s|' "$@"
END
chmod 755 "$WORK/bin/bpftrace" "$WORK/bin/stap"
PATH=$WORK/bin:$PATH
export PATH

# given: what the stand-in says of its arguments, for the library LIB
given() {
	sed -n 's/|[^|]*libkonfiscator[^|]*|/|LIB|/p' "$WORK/out"
}

expect 0 cli trace --arg=7 --arg='a b' --arg= leaks -- true
case $(given) in
'7|LIB|'[1-9]*'|7|a b|') ;;
*) fail "bpftrace was given $(cat "$WORK/out")" ;;
esac
equal "what bpftrace says of itself" "WARNING: a word" "$(cat "$WORK/err")"
prints "keys 65536 65536"
prints "/scripts/bpftrace/leaks.bt"

expect 0 cli trace -v leaks -- true
says "failed to detach probe: usdt:x"
expect 0 env BPFTRACE_MAX_MAP_KEYS=99 "$KF_CLI" trace leaks -- true
prints "keys 99 99"
expect 0 env BPFTRACE_MAP_KEYS_MAX=98 "$KF_CLI" trace leaks -- true
prints "keys 98 98"

expect 0 cli trace --engine=stap --arg=7 --arg='a b' leaks -- true
grep -q 'libkonfiscator[^|]*|0|7|a b|$' "$WORK/out" ||
	fail "stap was given $(cat "$WORK/out")"
expect 0 cli trace --engine=stap leaks -- true
grep -q 'libkonfiscator[^|]*|$' "$WORK/out" ||
	fail "stap was given $(cat "$WORK/out")"
