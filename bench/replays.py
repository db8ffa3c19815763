#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of real programs, replayed under each allocator: the heap alone, and
the same calls for all. The recordings are made once, by tests of suite.txt, and
kept. Of a test's processes those count whose heap is 1 MiB or more."""

import argparse
import glob
import json
import os
import shutil
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import command
import measure
import peers
import suite
import tables
from command import SUBJECT
from suite import die, start

LEAST = 1 << 20

# The name of a replay, the test that is recorded, and variables for it: Python's
# own arenas would leave little to record.
REPLAYS = (("replay-redis", "redis-serve", {}),
           ("replay-python3", "python3-documents", {"PYTHONMALLOC": "malloc"}),
           ("replay-gcc", "gcc-compile", {}),
           ("replay-node", "node-documents", {}),
           ("replay-sqlite3", "sqlite3-memory", {}))

# A figure of a replay, its title, and how it is written.
FIGURES = (("peak_bytes", "Peak of the heap, MiB", "rss"),
           ("cpu_seconds", "CPU time of the calls and of writing to the blocks, s",
            "cpu"))


def parse():
    p = argparse.ArgumentParser(prog="replays.py", allow_abbrev=False,
                                description=__doc__)
    peers.add_options(p, ratios=False)
    p.add_argument("--only", metavar="NAME", action="append", default=[],
                   choices=[name for name, _, _ in REPLAYS],
                   help="only this replay")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=3,
                   help="replays of each, of which the median counts (3)")
    p.add_argument("--recordings", metavar="DIR", default="recordings",
                   help="where the recordings are kept, each in its directory")
    p.add_argument("--limit", metavar="SEC", type=peers.positive, default=600)
    p.add_argument("--json", metavar="FILE", help="save the figures")
    p.add_argument("--markdown", metavar="FILE", help="save the tables")
    return p.parse_args()


def leave_out_small(args, where):
    """Deletes the recordings of small processes."""
    left = 0
    for path in glob.glob(os.path.join(where, "rec.*")):
        if command.rows(args, "report", path)[0]["peak_live_bytes"] < LEAST:
            os.unlink(path)
        else:
            left += 1
    if not left:
        raise measure.Failure("no process had a heap of 1 MiB")


def record(args, bench, test, more, where):
    """Makes the recordings of a test, compressed where the command can."""
    command = [os.path.abspath(os.path.join(args.build, "konfiscator")), "-q",
               "record", "--events", "-o", os.path.join(where, "rec.%p")]
    more = {"KONFISCATOR_RECORD_MAX": "8G", **more}
    for compress in ([["--compress"]], []):
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
        try:
            bench.run(command + sum(compress, []) + ["--"] + test.argv(), "",
                      more)
            break
        except measure.Failure:
            if not compress:
                raise
    leave_out_small(args, where)


def recordings(args, bench, name, test, more):
    """The directory of a replay's recordings, made if it is not there."""
    where = os.path.abspath(os.path.join(args.recordings, name))
    if not glob.glob(os.path.join(where, "rec.*")):
        why = test.missing() or bench.prepare(test)
        if why:
            raise measure.Failure(why)
        try:
            record(args, bench, test, more, where)
        except measure.Failure:
            shutil.rmtree(where, ignore_errors=True)
            raise
    return where


def replayed(args, found, where):
    """The figures of each peer."""
    rows = command.whatif(args, found, "--runs=%d" % args.rounds,
                          "--pace=fast", where)
    return {n: {f: r[f] for f, _, _ in FIGURES}
            for n, r in rows.items() if n in found}


def size_of(where):
    return sum(os.stat(p).st_size for p in glob.glob(os.path.join(where, "*")))


def table(results, found, figure, kind):
    """Amounts under glibc, ratios of the others to it."""
    others = [p for p in found if p != "glibc"]
    rows = [["replay", "recordings, MiB", "glibc"] + others]
    for name, (size, got) in results.items():
        of_glibc = got["glibc"][figure]
        rows.append([name, tables.amount("rss", size),
                     tables.amount(kind, of_glibc)] +
                    [tables.ratio(got[p][figure] / of_glibc if of_glibc else 0)
                     for p in others])
    return rows


def text(results, found, render):
    parts = ["## Replays of recordings", "",
             "The calls that a real program made, in their order and threads, "
             "without the program. These are not in the means of the suite, "
             "which has the programs themselves."]
    for figure, title, kind in FIGURES:
        parts += ["", "### " + title, "",
                  render(table(results, found, figure, kind))]
    return "\n".join(parts)


def main():
    args = parse()
    found = peers.chosen(args)
    if SUBJECT not in found or "glibc" not in found:
        die("glibc and konfiscator are needed: --library PATH")
    tests = {t.name: t for t in suite.read(
        os.path.join(peers.SOURCE, "bench", "suite.txt"), peers.SOURCE,
        args.build)}
    results = {}
    with measure.Bench(args.build, args.limit) as bench:
        for name, test, more in REPLAYS:
            if args.only and name not in args.only:
                continue
            try:
                where = recordings(args, bench, name, tests[test],
                                   more)
                results[name] = (size_of(where),
                                 replayed(args, found, where))
            except measure.Failure as e:
                print("SKIP %s: %s" % (name, e), file=sys.stderr)
    if not results:
        die("nothing was replayed")
    print(text(results, found, tables.plain))
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            print(text(results, found, tables.markdown), file=f)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({n: got for n, (_, got) in results.items()}, f, indent=1)
    return 0


if __name__ == "__main__":
    start(main)
