#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fragmentation over time: bench/programs/longrun under every allocator, one
after the other. A line for each so many operations has live/held
of each peer: what the program has in its blocks to what the process has of the
kernel. Nearer to 1 is better; a column that falls is fragmentation.
"""

import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import peers
from suite import die, start


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    peers.add_options(p, ratios=False)
    p.add_argument("--threads", metavar="N", type=int, default=2)
    p.add_argument("--operations", metavar="N", type=int, default=10 ** 8)
    p.add_argument("--blocks", metavar="N", type=int, default=200000)
    p.add_argument("--lines", metavar="N", type=int, default=10,
                   help="how often it is looked at (10)")
    return p.parse_args()


def run(options, program, env):
    """(operations, live, held) of each line that the program printed."""
    done = subprocess.run(
        [program, str(options.threads), str(options.operations),
         str(options.blocks), str(options.operations // options.lines)],
        env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print("longrun ended with %d under %s" %
              (done.returncode, env.get("LD_PRELOAD", "glibc")),
              file=sys.stderr)
        return None
    return [tuple(int(word) for word in line.split()[:3])
            for line in done.stdout.splitlines()]


def main():
    options = parse()
    program = os.path.join(options.build, "bench", "programs", "longrun")
    compared = peers.chosen(options)
    if not os.path.isfile(program):
        die("%s is not there: run make bench-longrun" % program)
    if options.lines < 1 or options.operations < options.lines:
        die("--lines %d is not from 1 to --operations %d" %
            (options.lines, options.operations))
    got = {}
    with measure.Bench(options.build, 600) as bench:
        for name, preload in peers.preloads(bench, compared).items():
            env = bench.environment(bench.data,
                                    peers.settings(options, name))
            if preload:
                env["LD_PRELOAD"] = preload
            got[name] = run(options, program, env)
    if not all(got.values()):
        return 1
    print("%d threads, %d blocks; live/held" %
          (options.threads, options.blocks))
    print("%12s %9s" % ("operations", "live MiB"),
          *("%11s" % name for name in got))
    for look in range(min(len(lines) for lines in got.values())):
        # Threads differ by some operations in how far they are.
        operations, live, _ = next(iter(got.values()))[look]
        print("%12d %9.1f" % (operations, live / 2 ** 20),
              *("%11.3f" % (lines[look][1] / lines[look][2])
                for lines in got.values()))
    return 0


if __name__ == "__main__":
    start(main)
