#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The suite under every allocator in turn; bench/README.md says how to read
what it prints. Each round runs a test once under each peer, and the next round
begins with the next peer, so that a machine that gets slower or faster favours
none.
"""

import argparse
import datetime
import os
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import peers
import plot
import results
import suite
import tables
from suite import start

HERE = os.path.dirname(os.path.abspath(__file__))


def add_input(p):
    peers.add_options(p)
    p.add_argument("--suite", metavar="FILE",
                   default=os.path.join(HERE, "suite.txt"),
                   help="the list of tests (bench/suite.txt)")
    p.add_argument("--source", metavar="DIR", default=os.path.dirname(HERE),
                   help="the tree that bench/workloads is in")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=5)
    p.add_argument("--limit", metavar="SECONDS", type=peers.positive,
                   default=120,
                   help="a run that takes longer has failed (120)")
    p.add_argument("--only", metavar="GLOB", action="append", default=[],
                   help="only tests of such names")
    p.add_argument("--group", choices=suite.GROUPS)
    p.add_argument("--no-again", action="store_true",
                   help="do not measure the reference a second time, which "
                   "shows the noise")


def parse(argv):
    p = argparse.ArgumentParser(
        prog="run.py", allow_abbrev=False,
        description="Run programs under several allocators in turn.")
    add_input(p)
    p.add_argument("--json", metavar="FILE", help="save what was measured")
    p.add_argument("--markdown", metavar="FILE", help="save the tables")
    p.add_argument("--plot", metavar="FILE.svg", help="save a plot")
    p.add_argument("--load", metavar="FILE",
                   help="run nothing: take what --json has saved")
    p.add_argument("--compare", metavar=("OLD", "NEW"), nargs=2,
                   help="two files of --json, side by side")
    p.add_argument("--list", action="store_true", help="name the tests")
    return p.parse_args(argv)


def head_of(args, found, argv):
    h = {"command": [os.path.basename(sys.argv[0])] + argv,
         "date": datetime.datetime.now(datetime.timezone.utc).strftime(
             "%Y-%m-%d %H:%M UTC"),
         "rounds": args.rounds, "limit": args.limit,
         "reference": args.reference, "subject": args.subject}
    if not args.no_again:
        h["again"] = args.reference + " again"
    h.update(peers.machine(args.source))
    h["peers"] = peers.described(args, found, h["commit"])
    return h


def ways_of(bench, args, found, again):
    """Preload and variables of each peer, in the order of a round. The second
    copy of the reference is half a round away from the first."""
    preloads = peers.preloads(bench, found)
    ways = {n: (p, peers.settings(args, n)) for n, p in preloads.items()}
    if not again:
        return ways
    if again in ways:
        suite.die("peer '%s' has the name of the second copy of %s" %
                  (again, args.reference))
    names = list(ways)
    far = names.index(args.reference) + (len(names) + 1) // 2
    names.insert(far % (len(names) + 1), again)
    ways[again] = ways[args.reference]
    return {name: ways[name] for name in names}


def run_test(bench, args, test, ways):
    """All rounds of one test, as a row."""
    row = {"name": test.name, "group": test.group,
           "command": [test.command] + test.arguments}
    row["skip"] = test.missing()
    if row["skip"]:
        return results.Row(row)
    runs = {name: {f: [] for f in results.FIGURES} for name in ways}
    row["runs"] = runs
    failed = bench.prepare(test)
    names = list(ways)
    for n in range(args.rounds + 1):
        # The first is the warm-up. Who has failed once is left out.
        for name in names[n % len(names):] + names[:n % len(names)]:
            if failed:
                runs[name]["fail"] = failed
            if "fail" in runs[name]:
                continue
            try:
                got = bench.run(test.argv(), *ways[name], watched=True)
            except measure.Failure as e:
                runs[name]["fail"] = str(e)
                continue
            if n:
                for figure in results.FIGURES:
                    runs[name][figure] += [got[figure]] if figure in got else []
    return results.Row(row)


def tell(result, row, number, total):
    """A line on stderr when a test is done, for who waits."""
    if row.skip:
        text = "skipped, " + row.skip
    else:
        text = "  ".join("%s %s" % (p, tables.cell(result, row, p, "wall"))
                         for p in result.columns())
    print("[%d/%d] %s: %s" % (number, total, row.name, text),
          file=sys.stderr, flush=True)


def measure_all(args, tests, argv):
    found = peers.chosen(args)
    result = results.Results(head_of(args, found, argv), [])
    with measure.Bench(args.build, args.limit) as bench:
        ways = ways_of(bench, args, found, result.again)
        for number, test in enumerate(tests, 1):
            row = run_test(bench, args, test, ways)
            result.rows.append(row)
            tell(result, row, number, len(tests))
            if args.json:
                result.save(args.json)
    return result


def list_tests(tests):
    print(tables.plain([["test", "group", "command"]] + [
        [t.name, t.group, " ".join([t.command] + t.arguments) +
         ("  (%s)" % t.missing() if t.missing() else "")] for t in tests]))


def compare(paths):
    table, lost = tables.comparison(*[results.load(p) for p in paths])
    print(tables.plain(table))
    for name in lost:
        print("only in one of the two: " + name)
    return 0


def main(argv):
    args = parse(argv)
    if args.compare:
        return compare(args.compare)
    if args.load:
        result = results.load(args.load)
        result.rows = suite.select(result.rows, args.only, args.group)
    else:
        args.build = os.path.abspath(args.build)
        tests = suite.read(args.suite, args.source, args.build)
        tests = suite.select(tests, args.only, args.group)
        if args.list:
            list_tests(tests)
            return 0
        result = measure_all(args, tests, argv)
    print(tables.report(result))
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            print(tables.report(result, tables.markdown), file=f)
    if args.plot:
        plot.write(result, args.plot)
    return 1 if result.failures() else 0


if __name__ == "__main__":
    start(main, sys.argv[1:])
