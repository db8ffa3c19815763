#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Functions of a running python of 3.12 or newer have names with -X perf, and after
# its end if it was recorded.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
cat >supported.py <<'END'
import sys
if sys.version_info < (3, 12):
    sys.exit(1)
sys.activate_stack_trampoline("perf")
print(sys.executable)
END
python=
for candidate in python3 python3.12 python3.13 python3.14 \
	"$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
	python=$("$candidate" supported.py 2>/dev/null) && break
	python=
done
[ -n "$python" ] ||
	skip "there is no python of 3.12 or newer that supports perf"

cat >leak.py <<'END'
import sys

keep = []


def cache():
    keep.append(bytearray(20000))


def handle():
    cache()


for i in range(2000):
    handle()
print("done", flush=True)
sys.stdin.read()
END
hold env KONFISCATOR_SAMPLE=64K LD_PRELOAD="$KF_PRELOAD" "$python" -X perf leak.py
map=/tmp/perf-$program.map
at_exit "rm -f $map"

has() {
	cli report --raw -o out.folded "$1" || fail "no report"
	grep -q "$2" out.folded || fail "$1: no stack has '$2': $(cat out.folded)"
}

calls='py::cache:[^;]*leak.py;.*bytearray'
has "$(echo stats/python*."$program".*)" "$calls"
expect 0 "$KF_CLI" record -p "$program" -o prof --duration 0.1
release
rm -f "$map"
has prof "$calls"
