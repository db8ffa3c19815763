#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Predictions of konfiscator whatif against the truth: the peak RSS of real
programs under every allocator. A program runs once under the library, and once
recorded; what its peak has beside the heap, which a recording does not know, is
the difference of that peak and of the replay under the library. It is added to
the replay under each other allocator."""

import argparse
import glob
import os
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import command
import measure
import peers
import suite
import tables
from command import SUBJECT
from suite import die, start


def parse():
    p = argparse.ArgumentParser(prog="whatif.py", allow_abbrev=False,
                                description=__doc__)
    peers.add_options(p, ratios=False)
    p.add_argument("--only", metavar="GLOB", action="append", default=[],
                   help="only these tests of suite.txt (the real ones)")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=3,
                   help="real runs of each, of which the median counts (3)")
    p.add_argument("--most", metavar="PERCENT", type=float, default=None,
                   help="fail if an error is larger")
    p.add_argument("--limit", metavar="SEC", type=peers.positive, default=600)
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    return p.parse_args()


def real(bench, args, test, preload):
    """The peak RSS of the largest process."""
    runs = [bench.run(test.argv(), preload, {"KONFISCATOR_STATS": "0"})
            for _ in range(args.rounds)]
    return statistics.median(r["rss"] for r in runs)


def recorded(bench, args, test, preload, where):
    """The recording of the process with the largest heap."""
    bench.run(test.argv(), preload,
              {"KONFISCATOR_RECORD": os.path.join(where, "rec.%p"),
               "KONFISCATOR_RECORD_MAX": "8G"})
    best, most = None, -1
    for path in glob.glob(os.path.join(where, "rec.*")):
        row = command.rows(args, "report", path)[0]
        if row["peak_live_bytes"] > most:
            best, most = path, row["peak_live_bytes"]
    return best


def predicted(args, found, recording):
    """The peak of the heap under each peer."""
    rows = command.whatif(args, found, "--runs=1", recording)
    return {n: r["peak_bytes"] for n, r in rows.items()}


def compare(bench, args, test, found, paths):
    """Real and predicted peaks of a test by peer, and what is beside the heap."""
    truth = {n: real(bench, args, test, paths[n]) for n in found}
    with tempfile.TemporaryDirectory(dir=bench.root) as where:
        recording = recorded(bench, args, test, paths[SUBJECT], where)
        if not recording:
            raise measure.Failure("nothing was recorded")
        heap = predicted(args, found, recording)
    rest = truth[SUBJECT] - heap[SUBJECT]
    return truth, {n: heap[n] + rest for n in found}, rest


def mib(n):
    return "%.1f" % (n / 2**20)


def rows_of(name, truth, guess, rest):
    """A row: MiB of the truth, and the error in percent."""
    row = [name, mib(rest), mib(truth[SUBJECT])]
    for peer in truth:
        if peer != SUBJECT:
            error = (guess[peer] / truth[peer] - 1) * 100
            row += [mib(truth[peer]), mib(guess[peer]), "%+.1f %%" % error]
    return row


def main():
    args = parse()
    found = peers.chosen(args)
    if SUBJECT not in found or "glibc" not in found:
        die("glibc and konfiscator are needed: --library PATH")
    tests = suite.select(suite.read(
        os.path.join(peers.SOURCE, "bench", "suite.txt"), peers.SOURCE,
        args.build), args.only, "real")
    heads = ["test", "beside the heap", SUBJECT]
    for peer in found:
        if peer != SUBJECT:
            heads += [peer, "predicted", "error"]
    rows, errors, of_heap = [heads], [], []
    with measure.Bench(args.build, args.limit) as bench:
        paths = peers.preloads(bench, found)
        for test in tests:
            why = test.missing() or bench.prepare(test)
            try:
                if why:
                    raise measure.Failure(why)
                truth, guess, rest = compare(bench, args, test, found, paths)
            except measure.Failure as e:
                print("SKIP %s: %s" % (test.name, e), file=sys.stderr)
                continue
            rows.append(rows_of(test.name, truth, guess, rest))
            errors += [abs(guess[p] / truth[p] - 1) * 100 for p in found
                       if p != SUBJECT]
            of_heap += [abs(guess[p] - truth[p]) / (truth[p] - rest) * 100
                        for p in found if p != SUBJECT and truth[p] > rest]
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    if not errors:
        die("no test could run")
    text = tables.markdown(rows)
    last = ("%d predictions: the error is %.1f %% in the median, and at most "
            "%.1f %%; of the heap alone it is %.1f %% in the median" %
            (len(errors), statistics.median(errors), max(errors),
             statistics.median(of_heap or [0])))
    print(text + "\n" + last)
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            f.write(text + "\n" + last + "\n")
    if args.most is not None and max(errors) > args.most:
        sys.exit(1)


if __name__ == "__main__":
    start(main)
