#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nanoseconds per pair of malloc and free on each path, under every allocator
in turn: medians of several rounds, with the interquartile range in percent."""

import os
import statistics
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import paths
import peers
import results
from paths import Path
from suite import die, start

# With the number of blocks that a run takes and gives back.
PATHS = (
    (Path("fast-64", "malloc", 64, 1), 40000000),
    (Path("fast-1024", "malloc", 1024, 1), 40000000),
    (Path("fill-drain-64", "malloc", 64, 1000), 40000000),
    (Path("refill-64", "malloc", 64, 100000), 20000000),
    (Path("random-527", "random", 527, 4096), 20000000),
    (Path("random-32k", "random", 32768, 4096), 10000000),
    (Path("remote-64", "remote", 64, 1000), 10000000),
    # Each does them: a recording of it is as long as one of fast-64. What two
    # processes pay more than one is the machine's.
    (Path("two-threads-64", "beside", 64, 1), 20000000),
    (Path("two-processes-64", "apart", 64, 1), 20000000),
    (Path("tagged-64", "tagged", 64, 1), 40000000),
    (Path("tag", "tag", 64, 1), 40000000),
    (Path("calloc-200", "calloc", 200, 1), 20000000),
    (Path("realloc-64", "realloc", 64, 1), 20000000),
    (Path("realloc-64k", "realloc", 65536, 1), 200000),
    (Path("large-300k", "malloc", 307200, 1), 2000000),
    (Path("large-4m", "malloc", 4194304, 1), 200000),
)


def run(bench, args, path, pairs, preloads):
    """ns of each round by peer; a string where a peer failed."""
    command = [paths.program(args), path.call, str(path.bytes),
               str(path.blocks),
               str(max(4, pairs // path.blocks // args.shorter))]
    got = {name: [] for name in preloads}
    names = list(preloads)
    for n in range(args.rounds):
        for name in names[n % len(names):] + names[:n % len(names)]:
            if isinstance(got[name], str):
                continue
            try:
                said = bench.run(command, preloads[name],
                                 peers.settings(args, name))
            except measure.Failure as e:
                got[name] = str(e)
            else:
                got[name].append(float(said["last"]))
    return got


def cell(values):
    if isinstance(values, str):
        return "FAIL"
    return "%.1f ±%.0f" % (statistics.median(values),
                           100 * results.spread(values))


def added(data, subject, to):
    """What a peer takes more than another, of the differences of each round."""
    if isinstance(data[subject], str) or isinstance(data[to], str):
        return "FAIL"
    return "%.1f (%.1f to %.1f)" % results.middle(
        [a - b for a, b in zip(data[subject], data[to])])


def main(argv):
    p = paths.parser("micro.py", __doc__, [path for path, _ in PATHS])
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=7)
    p.add_argument("--limit", metavar="SECONDS", type=peers.positive,
                   default=120)
    p.add_argument("--shorter", metavar="N", type=peers.positive, default=1,
                   help="divide the work by this")
    p.add_argument("--more-than", metavar="NAME",
                   help="what the subject takes more than this peer")
    args = p.parse_args(argv)
    found = peers.chosen(args)
    if args.more_than not in (None, *found):
        die("--more-than %r is not one of the peers %s" %
            (args.more_than, ", ".join(found)))
    table = [["ns per pair"] + list(found)]
    if args.more_than:
        table[0].append("%s - %s" % (args.subject, args.more_than))
    data = {}
    failed = 0
    with measure.Bench(args.build, args.limit) as bench:
        preloads = peers.preloads(bench, found)
        for path, pairs in PATHS:
            if args.only and path.name not in args.only:
                continue
            data[path.name] = run(bench, args, path, pairs, preloads)
            table.append([path.name] +
                         [cell(v) for v in data[path.name].values()])
            if args.more_than:
                table[-1].append(added(data[path.name], args.subject,
                                       args.more_than))
            for name, values in data[path.name].items():
                if isinstance(values, str):
                    failed = 1
                    print("FAIL %s under %s: %s" % (path.name, name, values),
                          file=sys.stderr)
    title = "ns per pair of calls (realloc: per call), medians of %d rounds" \
        % args.rounds
    if args.more_than:
        title += "; of the differences, with 95 %"
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths.finish(args, found, source, title, table, data)
    return failed


if __name__ == "__main__":
    start(main, sys.argv[1:])
