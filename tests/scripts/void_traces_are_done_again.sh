#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A tracer that fails of itself, dies, or loses events or what it says in the
# end is run again with its program; one that fails every time fails the test; one that ends well is
# believed. A stand-in for bpftrace does each.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir

# It takes a line from $WORK/plan each time; the last one for ever.
cat >"$WORK/tracer" <<'END'
import os, re, signal, sys
path = os.environ["WORK"] + "/plan"
plan = open(path).read().split()
if len(plan) > 1:
    open(path, "w").write("\n".join(plan[1:]))
what = plan[0]

last_word = re.search(r'printf\("(.*)\\n"\);\n}$', open(sys.argv[1]).read())[1]

def end(*unused):
    if what == "loses":
        print("Lost 3 events")
    print("@total[x]: 23")
    if what != "forgets":
        print(last_word)
    sys.stdout.flush()
    os._exit(255 if what == "fails" else 0)

signal.signal(signal.SIGINT, end)
if what == "refuses":
    sys.exit("ERROR: Error loading program: BEGIN (try -v)")
print("ready", flush=True)
if what == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
while True:
    signal.pause()
END
cat >"$WORK/bpftrace" <<END
#!/bin/sh
exec "$PYTHON3" "$WORK/tracer" "\$@"
END
chmod 755 "$WORK/bpftrace"
BPFTRACE=$WORK/bpftrace
printf 'END\n{\n}\n' >"$WORK/script"

job() {
	echo run >>"$WORK/runs"
}

# runs N WHAT...: a tracer that does this makes N runs of the program, and the
# last one counts
runs() {
	: >"$WORK/runs"
	nr=$1
	shift
	printf '%s\n' "$@" >"$WORK/plan"
	traced "$WORK/script" job
	equal "runs with a tracer that $*" "$nr" \
		"$(wc -l <"$WORK/runs" | tr -d ' ')"
	equal "what it counted in the end" 23 "$(traced_total x)"
}

runs 1 works
runs 1 refuses works
runs 2 fails works
runs 2 forgets works
runs 4 fails loses refuses fails works

echo dies >"$WORK/plan"
if (traced "$WORK/script" job) >"$WORK/out" 2>&1; then
	fail "a tracer that always dies was believed"
fi
grep -q 'tried 5 times' "$WORK/out" || fail "it says: $(cat "$WORK/out")"
