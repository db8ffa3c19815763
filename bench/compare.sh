#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whole programs under the library and under the C library's malloc.
#
# Usage: compare.sh LIBRARY [ROUNDS]
#
# Each program runs ROUNDS times (7) under both, in turn, and which goes first
# alternates, so that a machine that gets slower or faster does not favour one.
# Printed are the medians of wall time and of peak memory, and their ratios:
# below 1 the library is better. What is smaller than the spread (largest over
# smallest time under glibc) says nothing.
set -eu

library=${1:?usage: compare.sh LIBRARY [ROUNDS]}
rounds=${2:-7}
[ -f "$library" ] || {
	echo "compare.sh: $library is not there: run make first" >&2
	exit 1
}
work=$(mktemp -d "${TMPDIR:-/tmp}/konfiscator-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/stats"
ln -s "$(cd "$(dirname "$library")" && pwd)/${library##*/}" "$work/preload.so"
export KONFISCATOR_DIR="$work/stats"

"${PYTHON3:-python3}" - "$work" "$rounds" <<'END'
import os, shutil, statistics, subprocess, sys, time
work, rounds = sys.argv[1], int(sys.argv[2])
os.chdir(work)
with open("big.c", "w") as f:
    print("#include <stdio.h>", file=f)
    for i in range(700):
        print(f"int f{i}(int x) {{ int s = {i}; for (int i = 0; i < x; i++)"
              f" s = s * 31 + (x ^ i); return s; }}", file=f)
PYTHON = """
import json
d = {str(i): [str(j) for j in range(i % 60)] for i in range(9000)}
for _ in range(3):
    d = json.loads(json.dumps(d))
"""
REDIS = """
redis-server --port 0 --unixsocket ./s --save '' >/dev/null 2>&1 &
until redis-cli -s ./s ping >/dev/null 2>&1; do sleep 0.01; done
env -u LD_PRELOAD redis-benchmark -s ./s -q -n 60000 -r 30000 -d 200 \
    -P 16 -t set,get,lpush,lpop,hset >/dev/null
redis-cli -s ./s shutdown nosave
wait
"""
PROGRAMS = {
    "python3": (["python3"], [os.environ.get("PYTHON3", "python3"), "-c", PYTHON]),
    "gcc": (["gcc"], ["gcc", "-O1", "-c", "big.c", "-o", "big.o"]),
    "redis": (["redis-server", "redis-benchmark"], ["sh", "-c", REDIS]),
}

def run(command, preload):
    env = dict(os.environ)
    env.pop("LD_PRELOAD", None)
    if preload:
        env["LD_PRELOAD"] = os.path.join(work, "preload.so")
    start = time.monotonic()
    child = subprocess.Popen(command, env=env)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command[0]} failed under {'the library' if preload else 'glibc'}")
    return time.monotonic() - start, usage.ru_maxrss / 1024

print(f"{rounds} rounds, medians; ratio below 1: konfiscator is better")
print(f"{'program':8} {'glibc':>9} {'konf.':>9} {'ratio':>6} {'spread':>7}"
      f" {'glibc':>10} {'konf.':>10} {'ratio':>6}")
for name, (needed, command) in PROGRAMS.items():
    missing = [n for n in needed if not shutil.which(n)]
    if missing:
        print(f"{name:8} not run: {', '.join(missing)} missing")
        continue
    got = {False: [], True: []}
    run(command, False)
    for i in range(rounds):
        for preload in (i % 2 == 0, i % 2 == 1):
            got[preload].append(run(command, preload))
    t0, t1 = (statistics.median(r[0] for r in got[p]) for p in (False, True))
    m0, m1 = (statistics.median(r[1] for r in got[p]) for p in (False, True))
    times = [r[0] for r in got[False]]
    print(f"{name:8} {t0:7.3f} s {t1:7.3f} s {t1 / t0:6.2f}"
          f" {max(times) / min(times):7.2f}"
          f" {m0:6.1f} MiB {m1:6.1f} MiB {m1 / m0:6.2f}")
END
