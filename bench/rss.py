#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The memory of a process over time, under every allocator:
resident, and of that private and dirty, in MiB beyond what it had at the start."""

import argparse
import os
import statistics
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import peers
import tables
from suite import die, start

SCENARIOS = ("phases", "idle-threads", "sleeping-owners", "peak-then-idle",
             "light-use", "growing-vectors", "producer-consumer",
             "thread-pools")


def parse():
    p = argparse.ArgumentParser(prog="rss.py", allow_abbrev=False,
                                description=__doc__)
    peers.add_options(p, ratios=False)
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=3,
                   help="runs of each, of which the median counts (3)")
    p.add_argument("--parts", metavar="N", type=peers.positive, default=100,
                   help="hundredths of the usual amounts (100)")
    p.add_argument("--only", metavar="NAME", action="append", default=[],
                   help="only this scenario")
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    return p.parse_args()


def run(bench, options, preload, more, scenario):
    """Each moment's resident and dirty KiB, the medians of the rounds; the
    latter is None where nobody knows it."""
    program = os.path.join(options.build, "bench", "rss")
    rounds = {}
    for _ in range(options.rounds):
        last = bench.run([program, scenario, str(options.parts)],
                         preload, more)["last"]
        for field in last.split():
            moment, rss, dirty = field.split(":")
            rounds.setdefault(moment, []).append(
                (int(rss), None if dirty == "-" else int(dirty)))
    figures = {}
    for moment, pairs in rounds.items():
        rss, dirty = zip(*pairs)
        figures[moment] = (statistics.median(rss),
                           None if None in dirty else statistics.median(dirty))
    return figures


def cell(figure):
    if figure is None:
        return "FAIL"
    rss, dirty = figure
    text = "%.1f" % (rss / 1024)
    if dirty is not None and rss - dirty >= 1024:
        text += " (%.1f)" % (dirty / 1024)
    return text


def rows(scenario, found):
    """A row for each moment that any allocator came to."""
    moments = [m for figures in found.values() for m in figures]
    for moment in dict.fromkeys(moments):
        yield ([scenario, moment.replace("-", " ")] +
               [cell(figures.get(moment)) for figures in found.values()])


def main():
    options = parse()
    subjects = peers.chosen(options)
    program = os.path.join(options.build, "bench", "rss")
    if not os.path.isfile(program):
        die("%s is not there: run make bench-rss" % program)
    for name in options.only:
        if name not in SCENARIOS:
            die("--only '%s' is not one of %s" % (name, ", ".join(SCENARIOS)))
    table = [["MiB", ""] + list(subjects)]
    failed = 0
    with measure.Bench(options.build, 300) as bench:
        preloads = peers.preloads(bench, subjects)
        for scenario in SCENARIOS:
            if options.only and scenario not in options.only:
                continue
            found = {}
            for name, preload in preloads.items():
                try:
                    found[name] = run(bench, options, preload,
                                      peers.settings(options, name), scenario)
                except measure.Failure as e:
                    failed = 1
                    found[name] = {}
                    print("FAIL %s under %s: %s" % (scenario, name, e),
                          file=sys.stderr)
            table += rows(scenario, found)
    machine = peers.machine(peers.SOURCE)
    head = "commit %s, %s, kernel %s, %d CPUs; %d rounds" % (
        machine["commit"], machine["cpu"], machine["kernel"],
        machine["cpus"], options.rounds)
    print("%s\n\n%s" % (head, tables.plain(table)))
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as f:
            print("- %s\n\n%s" % (head, tables.markdown(table)), file=f)
    return failed


if __name__ == "__main__":
    start(main)
