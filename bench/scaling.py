#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same work with more and more threads: bench/programs/scaling from 1 to
64, with no block and with every other block freed by another thread.

Printed per million operations, from konfiscator's stats file: refills of an
empty list, which are all that leaves the fast path of malloc; slabs made and
given back and searches for pages, which are what happens under a lock; waits
for a lock; frees of other threads' blocks. A fast path that shares something
would show in the time alone; what must not grow with the threads is the part
under locks. Then the wall time under each allocator: on few
processors it says what more threads cost, not what they gain.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import peers
from suite import die, start

THREADS = (1, 2, 4, 8, 16, 32, 64)
COLUMNS = (
    ("fills", ("cache_fills",)),
    ("slabs", ("slabs_made", "slabs_freed")),
    ("searches", ("searches",)),
    ("waits", ("lock_contended",)),
    ("remote", ("remote_frees",)),
    ("collected", ("remote_collected",)),
)


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    peers.add_options(p, ratios=False)
    p.add_argument("--operations", metavar="N", type=int, default=10 ** 7,
                   help="of all threads together (10000000)")
    p.add_argument("--threads", metavar="N", type=peers.positive,
                   action="append", default=[],
                   help="only with this many threads (%s)" %
                   ", ".join(str(n) for n in THREADS))
    return p.parse_args()


def run(bench, options, name, preload, threads, crossed, directory):
    """Wall time in seconds."""
    program = os.path.join(options.build, "bench", "programs", "scaling")
    more = dict(peers.settings(options, name), KONFISCATOR_DIR=directory,
                KONFISCATOR_KEEP="1")
    try:
        return bench.run([program, str(threads), str(options.operations),
                          str(crossed)], preload, more)["wall"]
    except measure.Failure as e:
        sys.exit("scaling.py: scaling under %s: %s" % (name, e))


def counters(options, directory):
    """All counters of the one process that left its file there."""
    text = subprocess.check_output(
        [os.path.join(options.build, "konfiscator"), "stat", "--all",
         "--dir=" + directory, "--format=json"], text=True)
    rows = json.loads(text)
    if len(rows) != 1:
        sys.exit("scaling.py: %d stats files in %s, one is wanted" %
                 (len(rows), directory))
    return rows[0]


def sweep(bench, options, compared, crossed):
    print("%d %% of the blocks freed by another thread" % crossed)
    print("%7s" % "threads", *("%9s" % name for name, _ in COLUMNS),
          *("%11s" % name for name in compared))
    for threads in options.threads or THREADS:
        walls = []
        for name, preload in compared.items():
            with tempfile.TemporaryDirectory(prefix="kf-bench.") as directory:
                walls.append(run(bench, options, name, preload, threads,
                                 crossed, directory))
                if name == "konfiscator":
                    got = counters(options, directory)
        print("%7d" % threads,
              *("%9.1f" % (sum(got[word] for word in words) * 1e6 /
                           options.operations) for _, words in COLUMNS),
              *("%9.2f s" % wall for wall in walls), flush=True)


def main():
    options = parse()
    compared = peers.chosen(options)
    if "konfiscator" not in compared:
        die("the peer konfiscator is missing, whose counters are printed")
    for path in (os.path.join(options.build, "bench", "programs", "scaling"),
                 os.path.join(options.build, "konfiscator")):
        if not os.path.isfile(path):
            die("%s is not there: run make bench-scaling" % path)
    if options.operations < 1000000:
        die("--operations %d is not 1000000 or more" % options.operations)
    with measure.Bench(options.build, 600) as bench:
        preloads = peers.preloads(bench, compared)
        for crossed in (0, 50):
            sweep(bench, options, preloads, crossed)
            print()
    print("columns up to collected: per million operations")
    return 0


if __name__ == "__main__":
    start(main)
