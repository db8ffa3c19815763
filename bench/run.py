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
from suite import die

HERE = os.path.dirname(os.path.abspath(__file__))


def pair(what):
    """NAME=VALUE, neither of them empty."""
    name, sep, value = what.partition("=")
    if not (name and sep and value):
        raise argparse.ArgumentTypeError("'%s' is not NAME=PATH" % what)
    return name, value


def setting(what):
    """PEER:VARIABLE=VALUE."""
    peer, sep, rest = what.partition(":")
    name, equals, value = rest.partition("=")
    if not (peer and sep and name and equals):
        raise argparse.ArgumentTypeError(
            "'%s' is not PEER:VARIABLE=VALUE" % what)
    return peer, name, value


def positive(what):
    if not what.isdigit() or int(what) < 1:
        raise argparse.ArgumentTypeError("'%s' is not 1 or more" % what)
    return int(what)


def add_input(p):
    p.add_argument("--library", metavar="PATH",
                   help="the library that is the peer konfiscator")
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--suite", metavar="FILE",
                   default=os.path.join(HERE, "suite.txt"),
                   help="the list of tests (bench/suite.txt)")
    p.add_argument("--source", metavar="DIR", default=os.path.dirname(HERE),
                   help="the tree that bench/workloads is in")
    p.add_argument("--peer", metavar="NAME=PATH", type=pair, action="append",
                   default=[], help="add a library, or replace one")
    p.add_argument("--peers", metavar="NAME,...",
                   help="only these, in this order (all that are found)")
    p.add_argument("--env", metavar="PEER:VARIABLE=VALUE", type=setting,
                   action="append", default=[],
                   help="an option for one of the peers")
    p.add_argument("--reference", metavar="NAME", default="glibc",
                   help="the peer that ratios are to (glibc)")
    p.add_argument("--subject", metavar="NAME", default="konfiscator",
                   help="the peer that means are of (konfiscator)")
    p.add_argument("--rounds", metavar="N", type=positive, default=5)
    p.add_argument("--limit", metavar="SECONDS", type=positive, default=120,
                   help="a run that takes longer has failed (120)")
    p.add_argument("--only", metavar="GLOB", action="append", default=[],
                   help="only tests of such names")
    p.add_argument("--group", choices=suite.GROUPS)


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


def chosen_peers(args):
    """Name and path of each peer, the subject last."""
    found = peers.installed()
    if args.library:
        found["konfiscator"] = args.library
    found.update(args.peer)
    if args.peers:
        names = args.peers.split(",")
        for name in names:
            if name not in found:
                die("peer '%s' is not one of %s" % (name, ", ".join(found)))
        found = {n: found[n] for n in names}
    for what in ("reference", "subject"):
        if getattr(args, what) not in found:
            die("--%s '%s' is not one of the peers %s%s" %
                (what, getattr(args, what), ", ".join(found),
                 "" if args.library else "; --library PATH adds konfiscator"))
    for peer, _, _ in args.env:
        if peer not in found:
            die("--env: '%s' is not one of the peers %s" %
                (peer, ", ".join(found)))
    for name, path in found.items():
        if path and not os.path.isfile(path):
            die("peer %s: %s is not there" % (name, path))
    return found


def head_of(args, found, argv):
    h = {"command": [os.path.basename(sys.argv[0])] + argv,
         "date": datetime.datetime.now(datetime.timezone.utc).strftime(
             "%Y-%m-%d %H:%M UTC"),
         "rounds": args.rounds, "limit": args.limit,
         "reference": args.reference, "subject": args.subject}
    h.update(peers.machine(args.source))
    h["peers"] = {}
    for name, path in found.items():
        version = h["commit"] if name == "konfiscator" else \
            peers.version(name, path)
        options = ["%s=%s" % (v, x) for n, v, x in args.env if n == name]
        h["peers"][name] = {"path": path,
                            "version": " ".join([version] + options)}
    return h


def run_test(bench, args, test, preloads):
    """All rounds of one test, as a row."""
    row = {"name": test.name, "group": test.group,
           "command": [test.command] + test.arguments}
    row["skip"] = test.missing()
    if row["skip"]:
        return results.Row(row)
    runs = {name: {f: [] for f in results.FIGURES} for name in preloads}
    row["runs"] = runs
    failed = bench.prepare(test)
    names = list(preloads)
    for n in range(args.rounds + 1):
        # The first is the warm-up. Who has failed once is left out.
        for name in names[n % len(names):] + names[:n % len(names)]:
            if failed:
                runs[name]["fail"] = failed
            if "fail" in runs[name]:
                continue
            more = {v: x for p, v, x in args.env if p == name}
            try:
                got = bench.run(test.argv(), preloads[name], more)
            except measure.Failure as e:
                runs[name]["fail"] = str(e)
                continue
            if n:
                for figure in results.FIGURES:
                    runs[name][figure].append(got[figure])
    return results.Row(row)


def tell(result, row, number, total):
    """A line on stderr when a test is done, for who waits."""
    if row.skip:
        text = "skipped, " + row.skip
    else:
        text = "  ".join("%s %s" % (p, tables.cell(result, row, p, "wall"))
                         for p in result.peers)
    print("[%d/%d] %s: %s" % (number, total, row.name, text),
          file=sys.stderr, flush=True)


def measure_all(args, tests, argv):
    found = chosen_peers(args)
    launch = os.path.join(args.build, "bench", "launch")
    if not os.path.isfile(launch):
        die("%s is not there: run make bench, or give --build" % launch)
    result = results.Results(head_of(args, found, argv), [])
    with measure.Bench(os.path.abspath(launch), args.limit) as bench:
        preloads = {n: bench.preload(p) for n, p in found.items()}
        for name, path in preloads.items():
            if path and not peers.is_loaded(path):
                die("peer %s: %s cannot be preloaded" % (name, found[name]))
        for number, test in enumerate(tests, 1):
            row = run_test(bench, args, test, preloads)
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
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        die(str(error))
