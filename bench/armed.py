#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a probe costs while somebody looks: each probe that a path passes is
armed by itself, under bpftrace with count(), and the path is timed with and
without it in turn. Others see nothing of it: a copy of the library is traced.
"""

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import paths
import peers
from paths import Path
from suite import die, start

# The path that passes the probes, in how many pairs of calls.
ARMED = (
    (Path("fast", "malloc", 64, 1), 1000000, ("alloc", "release")),
    (Path("realloc", "realloc", 64, 1), 1000000, ("resize",)),
    (Path("refill", "malloc", 64, 100000), 4000000,
     ("cache_fill", "slow_enter", "slow_leave")),
    (Path("new-slabs", "malloc", 2048, 20000), 2000000,
     ("slab_new", "slab_free", "free_list_search", "free_list_split",
      "defrag_coalesce")),
    (Path("remote", "remote", 64, 1000), 2000000, ("remote_collect",)),
    (Path("large", "malloc", 307200, 1), 500000,
     ("large_alloc", "large_free")),
)
PATIENCE = 120  # seconds for bpftrace to begin, or to end


def counting(args, library, probe):
    """The command of a bpftrace that counts one probe."""
    return [args.bpftrace, "-e", 'BEGIN { printf("ready\\n"); } '
            'usdt:%s:konfiscator:%s { @events = count(); }' % (library, probe)]


class Tracer:
    """A bpftrace; `events` is what it counted, None where it would not say so
    in the end."""

    def __init__(self, command, out):
        self.out = out
        self.events = None
        with open(out, "w", encoding="utf-8") as f:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=f,
                stderr=subprocess.STDOUT)

    def said(self):
        with open(self.out, encoding="utf-8", errors="replace") as f:
            return f.read()

    def ready(self):
        """Wait until it is attached; it fails now and then, to be retried."""
        end = time.monotonic() + PATIENCE
        while "ready\n" not in self.said():
            if self.process.poll() is not None or time.monotonic() > end:
                self.kill()
                lines = self.said().strip().split("\n")
                raise measure.Failure("bpftrace: " + lines[-1])
            time.sleep(0.05)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def finish(self):
        # It may miss a signal that comes just before it waits.
        for _ in range(PATIENCE // 4):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(4)
                break
            except subprocess.TimeoutExpired:
                pass
        self.kill()
        found = re.search(r"^@events: (\d+)$", self.said(), re.MULTILINE)
        self.events = int(found.group(1)) if found else None


class Timing:
    """One probe on one path: ns per pair, idle and armed, and how often it
    fires in a thousand pairs."""

    def __init__(self):
        self.idle = []
        self.armed = []
        self.per_thousand = None

    def row(self, path, probe):
        idle = statistics.median(self.idle)
        armed = statistics.median(self.armed)
        cells = [probe, path.name, "?", "%.1f" % idle, "%.1f" % armed,
                 "%.2f" % (armed / idle), "?"]
        if self.per_thousand is not None:
            cells[2] = "%.2f" % self.per_thousand
        if self.per_thousand:
            cells[6] = "%.0f" % (1000 * (armed - idle) / self.per_thousand)
        return cells


def traced(bench, tracing, command, library):
    """What a run of a command took while a tracer was attached, and what that
    counted."""
    for left in (2, 1, 0):
        tracer = Tracer(tracing, os.path.join(bench.root, "bpftrace"))
        try:
            tracer.ready()
            took = bench.run(command, library)
            tracer.finish()
            return took, tracer.events
        except measure.Failure:
            if not left:
                raise
        finally:
            tracer.kill()


def measured(bench, args, path, pairs, probe, library):
    rounds = max(4, pairs // path.blocks // args.shorter)
    # The uncounted quarter fires, too.
    calls = (rounds + rounds // 4) * path.blocks
    command = [paths.program(args), path.call, str(path.bytes),
               str(path.blocks), str(rounds)]
    timing = Timing()
    for _ in range(args.rounds):
        timing.idle.append(float(bench.run(command, library)["last"]))
        took, events = traced(bench, counting(args, library, probe), command,
                              library)
        timing.armed.append(float(took["last"]))
        if events is not None:
            timing.per_thousand = 1000 * events / calls
    return timing


def parse(argv):
    p = argparse.ArgumentParser(prog="armed.py", allow_abbrev=False,
                                description=__doc__)
    names = [probe for _, _, probes in ARMED for probe in probes]
    p.add_argument("--library", metavar="PATH", required=True)
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--bpftrace", metavar="PATH", default="bpftrace")
    p.add_argument("--only", metavar="PROBE", action="append", default=[],
                   choices=names, help="only this probe")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=3)
    p.add_argument("--shorter", metavar="N", type=peers.positive, default=1,
                   help="divide the work by this")
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    args = p.parse_args(argv)
    args.build = os.path.abspath(args.build)
    args.peer, args.env, args.peers = [], [], "konfiscator"
    args.reference = args.subject = "konfiscator"
    return args


def table(bench, args, library):
    rows = [["probe", "path", "events in 1000 pairs", "ns per pair", "armed",
             "ratio", "ns per event"]]
    for path, pairs, probes in ARMED:
        for probe in probes:
            if not args.only or probe in args.only:
                rows.append(measured(bench, args, path, pairs, probe,
                                     library).row(path, probe))
    return rows


def main(argv):
    args = parse(argv)
    found = peers.chosen(args)
    if not shutil.which(args.bpftrace):
        die("%s is missing (bpftrace)" % args.bpftrace)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with measure.Bench(args.build, 600) as bench:
        library = os.path.join(bench.root, "libkonfiscator-traced.so")
        shutil.copy(args.library, library)
        try:
            rows = table(bench, args, library)
        except measure.Failure as e:
            print("armed.py: " + str(e), file=sys.stderr)
            return 1
    args.json = None
    paths.finish(args, found, source, "Probes armed one by one, count() in "
                 "bpftrace, medians of %d rounds" % args.rounds, rows, None)
    return 0


if __name__ == "__main__":
    start(main, sys.argv[1:])
