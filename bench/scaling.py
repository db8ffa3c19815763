#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same work with more and more threads: bench/programs/scaling from 1 to
128, with no block and with every other block freed by another thread.

Printed per million operations, from konfiscator's stats file: refills of an
empty list, which are all that leaves the fast path of malloc; slabs made and
given back and searches for pages, which are what happens under a lock; waits
for a lock; frees of other threads' blocks. A fast path that shares something
would show in the time alone; what must not grow with the threads is the part
under locks. Then the wall time under each allocator: on few
processors it says what more threads cost, not what they gain.

With --bpftrace PATH, as root, further columns have the calls that write to what
threads share, counted in a run of its own: the pages lock, other locks, the
address map, and the remote words of slabs.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import armed
import measure
import peers
from suite import die, start

THREADS = (1, 2, 4, 8, 16, 32, 64, 128)
COLUMNS = (
    ("fills", ("cache_fills",)),
    ("slabs", ("slabs_made", "slabs_freed")),
    ("searches", ("searches",)),
    ("waits", ("lock_contended",)),
    ("remote", ("remote_frees",)),
    ("collected", ("remote_collected",)),
)
# Functions of the library that write to shared cache lines, and when they do.
CALLS = (
    ("kf_pages_lock", ""),
    ("kf_lock_take_timed", ""),
    ("kf_lock_take", ""),
    ("kf_map_set", ""),
    # An outbox whose slab is NULL is empty.
    ("remote_send_outbox", "/(*(uint64 *)arg0) != 0/ "),
)
# Columns, as sums of calls; a minus subtracts.
SHARED = (
    ("pages lock", ("kf_pages_lock",)),
    ("others", ("kf_lock_take_timed", "kf_lock_take", "-kf_pages_lock")),
    ("map", ("kf_map_set",)),
    ("words", ("remote_send_outbox",)),
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
    p.add_argument("--bpftrace", metavar="PATH",
                   help="also count writes to shared cache lines; as root")
    return p.parse_args()


def command(options, threads, crossed):
    return [os.path.join(options.build, "bench", "programs", "scaling"),
            str(threads), str(options.operations), str(crossed)]


def run(bench, options, name, preload, threads, crossed, directory):
    """Wall time in seconds."""
    more = dict(peers.settings(options, name), KONFISCATOR_DIR=directory,
                KONFISCATOR_KEEP="1")
    try:
        return bench.run(command(options, threads, crossed), preload,
                         more)["wall"]
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


def shared(bench, options, traced, threads, crossed):
    """The figures of SHARED. Only a copy of the library is traced."""
    if not options.bpftrace:
        return []
    library = os.path.join(bench.root, "libkonfiscator-traced.so")
    shutil.copy(traced, library)
    script = 'BEGIN { printf("ready\\n"); } ' + " ".join(
        "uprobe:%s:%s %s{ @%s = count(); }" % (library, name, when, name)
        for name, when in CALLS)
    try:
        armed.traced(bench, [options.bpftrace, "-e", script],
                     command(options, threads, crossed), library)
    except measure.Failure as e:
        sys.exit("scaling.py: " + str(e))
    with open(os.path.join(bench.root, "bpftrace"), encoding="utf-8") as f:
        found = dict(re.findall(r"^@(\w+): (\d+)$", f.read(), re.MULTILINE))
    if not found:
        sys.exit("scaling.py: bpftrace counted nothing")
    return [sum(-int(found.get(c[1:], 0)) if c[0] == "-" else
                int(found.get(c, 0)) for c in calls) for _, calls in SHARED]


def sweep(bench, options, compared, crossed):
    print("%d %% of the blocks freed by another thread" % crossed)
    print("%7s" % "threads", *("%9s" % name for name, _ in COLUMNS),
          *("%10s" % name for name, _ in SHARED if options.bpftrace),
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
              *("%10.1f" % (n * 1e6 / options.operations)
                for n in shared(bench, options, compared["konfiscator"],
                                threads, crossed)),
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
    print("columns before the times: per million operations")
    return 0


if __name__ == "__main__":
    start(main)
