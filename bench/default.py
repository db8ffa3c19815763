#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What samples and guards cost programs that nobody prepared: user and system
time with the default options, and without guards, against KONFISCATOR_SAMPLE=0.
Each round runs the three in random order; medians of the rounds' ratios."""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import peers
import tables
from measure import FOREIGN

OFF = {"KONFISCATOR_SAMPLE": "0"}
CASES = {"without guards": {"KONFISCATOR_GUARD_SLOTS": "0"}, "default": {}}

# Shell commands, from a millisecond to some seconds.
PROGRAMS = {
    "true": "exec true",
    "python3 -c pass": "exec python3 -c pass",
    "sh, 150 forks": "for i in $(seq 150); do (:); done",
    "perl, 50,000 strings": "exec perl -e 'for (1 .. 50000) "
                            "{ $h{$_} = \"x$_\" }'",
    "gcc -O2 of a file": "exec gcc -O2 -iquote \"$BENCH_TOP\" -c "
                         "-o /dev/null \"$BENCH_TOP/bench/samples.c\"",
    "sort of 300,000 lines": "seq 300000 | sort -R --random-source=/dev/zero "
                             "| exec sort",
    "python3, json for a second": "exec python3 -c 'import json\n"
                                  "for i in range(4000):\n"
                                  "    json.loads(json.dumps("
                                  "[{str(n): \"x\" * n} "
                                  "for n in range(300)]))'",
}


def parse():
    p = argparse.ArgumentParser(prog="default.py", allow_abbrev=False,
                                description=__doc__)
    p.add_argument("--library", metavar="PATH", required=True)
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=31,
                   help="times that all is done in turn (31)")
    p.add_argument("--markdown", metavar="FILE", help="write the table")
    return p.parse_args()


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(args, command, variables, scratch):
    env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    env.update(variables, LD_PRELOAD=os.path.abspath(args.library),
               KONFISCATOR_DIR=scratch, LC_ALL="C",
               BENCH_TOP=os.path.dirname(os.path.dirname(
                   os.path.abspath(__file__))))
    before = cpu()
    subprocess.run(["sh", "-c", command], env=env, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return cpu() - before


def row(args, name, command, scratch):
    cases = {"off": OFF, **CASES}
    times = {case: [] for case in cases}
    for _ in range(args.rounds):
        for case in random.sample(list(cases), len(cases)):
            times[case].append(run(args, command, cases[case], scratch))
    cells = [name, "%.1f" % (1000 * statistics.median(times["off"]))]
    for case in CASES:
        ratio = statistics.median(
            t / off for t, off in zip(times[case], times["off"]))
        cells.append("%+.1f %%" % (100 * (ratio - 1)))
    return cells


def main():
    args = parse()
    rows = [["program", "without samples, ms", *CASES]]
    with tempfile.TemporaryDirectory(prefix="konfiscator-bench.") as scratch:
        rows += [row(args, name, command, scratch)
                 for name, command in PROGRAMS.items()]
    print(tables.plain(rows))
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            f.write(tables.markdown(rows) + "\n")


if __name__ == "__main__":
    main()
