#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The longest malloc and free among many random ones, against the mean, under
every allocator of the machine and under the library's engines."""

import argparse
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import peers
import tables
from suite import die, start

# Not compared: the C library is there as a peer, and secure is slow by design.
LEFT_OUT = ("secure", "system")
FIGURES = ("mean", "99.99 %", "99.999 %", "longest", "with a page fault",
           "in each round")


def engines():
    """The library by each of its engines: name and variables."""
    table = os.path.join(peers.SOURCE, "src", "engines", "engines.def")
    with open(table, encoding="utf-8") as f:
        names = re.findall(r"^KF_ENGINE\((\w+),", f.read(), re.M)
    found = [(name, {"KONFISCATOR_ENGINE": name})
             for name in names if name not in LEFT_OUT]
    return found + [("tlsf-prefault", {"KONFISCATOR_ENGINE": "tlsf",
                                       "KONFISCATOR_TLSF_PREFAULT": "1"})]


def parse():
    p = argparse.ArgumentParser(prog="worst.py", allow_abbrev=False,
                                description=__doc__)
    peers.add_options(p, ratios=False)
    p.add_argument("--operations", metavar="N", type=peers.positive,
                   default=10 ** 7, help="calls in a round (10^7)")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=5,
                   help="times that they are done (5)")
    p.add_argument("--only", metavar="NAME", action="append", default=[],
                   help="only this allocator or engine")
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    return p.parse_args()


def subjects(options):
    """Name, library and variables of all that is compared; the peer
    konfiscator is there by each of its engines."""
    found = [(name, path, peers.settings(options, name))
             for name, path in peers.chosen(options).items()
             if name != "konfiscator"]
    found += [(name, options.library, more) for name, more in engines()]
    for name in options.only:
        if name not in [f[0] for f in found]:
            die("--only '%s' is not one of %s" %
                (name, ", ".join(f[0] for f in found)))
    return [f for f in found if not options.only or f[0] in options.only]


def run(bench, options, name, preload, more):
    """The figures of malloc and of free, and how many were not counted."""
    program = os.path.join(options.build, "bench", "worst")
    kept = os.path.join(bench.data, "worst-" + name)
    rounds = []
    for _ in range(options.rounds):
        last = bench.run([program, kept, str(options.operations)],
                         preload, more)["last"]
        rounds.append([float(word) for word in last.split()])
    os.unlink(kept)
    kinds = []
    nr = len(FIGURES)
    for first in (0, nr):
        mean, few, fewer, longest, fault, _ = zip(
            *(r[first:first + nr] for r in rounds))
        kinds.append([statistics.median(mean), statistics.median(few),
                      statistics.median(fewer), max(longest), max(fault),
                      rounds[-1][first + nr - 1]])
    return kinds, sum(r[2 * nr] for r in rounds)


def main():
    options = parse()
    if not options.library:
        die("--library is missing: the library whose engines are compared")
    compared = subjects(options)
    program = os.path.join(options.build, "bench", "worst")
    if not os.path.isfile(program):
        die("%s is not there: run make bench-worst" % program)
    table = [["ns"] + ["malloc " + f for f in FIGURES] +
             ["free " + f for f in FIGURES] + ["not counted"]]
    failed = 0
    with measure.Bench(options.build, 600) as bench:
        preloads = peers.preloads(bench, {n: path for n, path, _ in compared})
        for name, _, more in compared:
            try:
                kinds, away = run(bench, options, name, preloads[name], more)
            except measure.Failure as e:
                failed = 1
                print("FAIL %s: %s" % (name, e), file=sys.stderr)
                continue
            table.append([name] + ["%.0f" % n for k in kinds for n in k] +
                         ["%.0f" % away])
    machine = peers.machine(peers.SOURCE)
    head = "commit %s, %s, kernel %s, %d CPUs; %d operations, %d rounds" % (
        machine["commit"], machine["cpu"], machine["kernel"],
        machine["cpus"], options.operations, options.rounds)
    print("%s\n\n%s" % (head, tables.plain(table)))
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as f:
            print("- %s\n\n%s" % (head, tables.markdown(table)), file=f)
    return failed


if __name__ == "__main__":
    start(main)
