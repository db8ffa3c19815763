#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same work with more and more threads: bench/programs/scaling from 1 to
64, with no block and with every other block freed by another thread.

Printed per million operations, from konfiscator's stats file: refills of an
empty list, which are all that leaves the fast path of malloc; slabs made and
given back and searches for pages, which are what happens under a lock; waits
for a lock; frees of other threads' blocks. A fast path that shares something
would show in the time alone; what must not grow with the threads is the part
under locks. Then the wall time under each allocator of the machine: on few
processors it says what more threads cost, not what they gain.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source may be somebody else's

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
    p.add_argument("--library", metavar="PATH", required=True,
                   help="the library that is the peer konfiscator")
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--operations", metavar="N", type=int, default=10 ** 7,
                   help="of all threads together (10000000)")
    return p.parse_args()


def run(options, library, threads, crossed, directory):
    """Wall time in seconds."""
    env = dict(os.environ, KONFISCATOR_DIR=directory)
    env.pop("LD_PRELOAD", None)
    if library:
        env["LD_PRELOAD"] = library
    program = os.path.join(options.build, "bench", "programs", "scaling")
    start = time.monotonic()
    status = subprocess.run([program, str(threads), str(options.operations),
                             str(crossed)], env=env, check=False).returncode
    if status:
        sys.exit("scaling.py: scaling ended with %d under %s" %
                 (status, library or "glibc"))
    return time.monotonic() - start


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


def sweep(options, compared, crossed):
    print("%d %% of the blocks freed by another thread" % crossed)
    print("%7s" % "threads", *("%9s" % name for name, _ in COLUMNS),
          *("%11s" % name for name in compared))
    for threads in THREADS:
        walls = []
        for name, library in compared.items():
            with tempfile.TemporaryDirectory(prefix="kf-bench.") as directory:
                walls.append(run(options, library, threads, crossed,
                                 directory))
                if name == "konfiscator":
                    got = counters(options, directory)
        print("%7d" % threads,
              *("%9.1f" % (sum(got[word] for word in words) * 1e6 /
                           options.operations) for _, words in COLUMNS),
              *("%9.2f s" % wall for wall in walls), flush=True)


def main():
    options = parse()
    for path in (options.library,
                 os.path.join(options.build, "bench", "programs", "scaling"),
                 os.path.join(options.build, "konfiscator")):
        if not os.path.isfile(path):
            die("%s is not there: run make bench-scaling" % path)
    if options.operations < 1000000:
        die("--operations %d is not 1000000 or more" % options.operations)
    compared = peers.installed()
    compared["konfiscator"] = os.path.abspath(options.library)
    for crossed in (0, 50):
        sweep(options, compared, crossed)
        print()
    print("columns up to collected: per million operations")
    return 0


if __name__ == "__main__":
    start(main)
