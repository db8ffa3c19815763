#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guards find as many overflows and uses after free as is computed.

A block of S bytes is a sample with the probability 1 - exp(-S / R). Each is
guarded here; half of the guarded blocks end at the end of their page, where a
read behind them is found. More than 2000 are expected of either kind, so that
chance alone is beyond 10 % less than once in 100,000 runs.
"""

import math
import os
import subprocess
import sys

R = 16384
S = 64
PROCESSES = 110


def found(kind, times, line):
    """How many blocks of how many the guards found, in many processes."""
    program = os.path.join(os.environ["top_builddir"], "tests/guarded/faulty")
    env = dict(os.environ, LD_PRELOAD=os.environ["KF_LIB"],
               KONFISCATOR_STATS="0", KONFISCATOR_SAMPLE=str(R),
               KONFISCATOR_GUARD_SLOTS="16", KONFISCATOR_GUARD_RATE="0")
    nr = 0
    for _ in range(PROCESSES):
        run = subprocess.run([program, kind, str(S), str(times)], env=env,
                             text=True, check=True, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        nr += run.stderr.count(line)
    return nr


def compare(kind, times, line, share):
    """Compare with what is computed."""
    want = PROCESSES * times * share * (1 - math.exp(-S / R))
    got = found(kind, times, line)
    print(f"{kind}: {got} found, {want:.0f} computed")
    return abs(got / want - 1) < 0.1


if not compare("overflow-read", 10000, "konfiscator: overflow", 0.5):
    sys.exit("FAIL: overflows")
if not compare("after-free-read", 5000, "konfiscator: use after free", 1):
    sys.exit("FAIL: uses after free")
