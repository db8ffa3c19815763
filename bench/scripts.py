#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tracing scripts cost: programs run under the library without a
tracer and with each script attached, in turn. bpftrace's run on this machine,
SystemTap's in an emulated one (tests/vm), compared with the untraced program
there.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import armed
import measure
import paths
import peers
from suite import die, start

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PERL = "for(1..$ARGV[0]){$n{$_%20000}.=chr(65+$_%26)}"


def workloads(build, divisor):
    """Programs by name, that do the divisor's part of their work: one that
    does nothing but allocate, and one that is a program."""
    return {
        "mixed": [os.path.join(build, "bench", "programs", "mixed"), "1",
                  str(1000000 // divisor)],
        "perl": ["perl", "-e", PERL, str(2000000 // divisor)],
    }


def scripts(tool, suffix, only):
    names = [os.path.splitext(name)[0] for name in
             sorted(os.listdir(os.path.join(SOURCE, "scripts", tool)))
             if name.endswith(suffix)]
    return [n for n in names if not only or n in only]


class Times:
    """Seconds of the processor by workload and script; None is the untraced
    program. The least of the rounds is the one least disturbed."""

    def __init__(self):
        self.taken = {}

    def add(self, workload, script, seconds):
        self.taken.setdefault((workload, script), []).append(seconds)

    def seconds(self, workload, script=None):
        taken = self.taken.get((workload, script))
        return min(taken) if taken else None

    def ratio(self, workload, script):
        armed_s = self.seconds(workload, script)
        idle = self.seconds(workload)
        return "%.2f" % (armed_s / idle) if armed_s and idle else "-"


def trace_here(bench, args):
    """bpftrace's scripts on this machine."""
    times = Times()
    if not shutil.which(args.bpftrace):
        print("%s is missing (bpftrace)" % args.bpftrace, file=sys.stderr)
        return times
    library = os.path.join(bench.root, "libkonfiscator-traced.so")
    shutil.copy(args.library, library)
    for workload, command in workloads(args.build, args.shorter).items():
        for _ in range(args.rounds):
            took = bench.run(command, library)
            times.add(workload, None, took["cpu"])
            for name in scripts("bpftrace", ".bt", args.only):
                took, _ = armed.traced(
                    bench, [args.bpftrace, os.path.join(
                        SOURCE, "scripts", "bpftrace", name + ".bt"),
                        library, "0"], command, library)
                times.add(workload, name, took["cpu"])
    return times


def vm(args, out, *words):
    """Run a command of tests/vm/vm; False where it cannot be had."""
    status = subprocess.run(
        ["sh", os.path.join(SOURCE, "tests", "vm", "vm"), "-b", args.build,
         "-o", out, "-t", "3600"] + list(words), check=False).returncode
    if status not in (0, 77):
        raise measure.Failure("the machine ended with status %d" % status)
    return status == 0


def trace_in_machine(args):
    """SystemTap's scripts in an emulated machine, which needs the build tree
    and installs nothing."""
    times = Times()
    names = scripts("stap", ".stp", args.only)
    job = "/kf/src/bench/scripts.sh"
    out = tempfile.mkdtemp(prefix="konfiscator-bench.")
    try:
        if not vm(args, out, "native", args.root, "--", "sh", job, "prepare",
                  *names):
            return times
        # An emulated machine is 20 times slower.
        for workload, command in workloads("/kf/build",
                                           args.shorter * 20).items():
            if not vm(args, out, "run", args.root, "--", "sh", job, "time",
                      str(args.rounds), workload, shlex.join(command), *names):
                return times
        with open(os.path.join(out, "times"), encoding="utf-8") as f:
            for line in f:
                workload, name, us = line.split()
                times.add(workload, None if name == "-" else name,
                          int(us) / 1e6)
    finally:
        shutil.rmtree(out, ignore_errors=True)
    return times


def table(here, machine, names):
    loads = list(workloads("", 1))
    rows = [["script"] + ["%s, %s" % (tool, load) for tool in
                          ("bpftrace", "stap") for load in loads]]
    rows.append(["untraced, seconds"] +
                ["%.3f" % s if s else "-" for times in (here, machine)
                 for s in [times.seconds(load) for load in loads]])
    for name in names:
        rows.append([name] + [times.ratio(load, name) for times in
                              (here, machine) for load in loads])
    return rows


def parse(argv):
    p = argparse.ArgumentParser(prog="scripts.py", allow_abbrev=False,
                                description=__doc__)
    p.add_argument("--library", metavar="PATH", required=True)
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--bpftrace", metavar="PATH", default="bpftrace")
    p.add_argument("--root", choices=("trixie", "forky", "none"),
                   default="trixie", help="the machine for SystemTap")
    p.add_argument("--only", metavar="SCRIPT", action="append", default=[],
                   help="only this script")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=3)
    p.add_argument("--shorter", metavar="N", type=peers.positive, default=1,
                   help="divide the work by this")
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    args = p.parse_args(argv)
    args.build = os.path.abspath(args.build)
    args.peer, args.env, args.peers = [], [], "konfiscator"
    args.reference = args.subject = "konfiscator"
    args.json = None
    return args


def main(argv):
    args = parse(argv)
    names = sorted(set(scripts("bpftrace", ".bt", args.only) +
                       scripts("stap", ".stp", args.only)))
    if not names:
        die("no script is called " + ", ".join(args.only))
    found = peers.chosen(args)
    machine = Times()
    try:
        with measure.Bench(args.build, 600) as bench:
            here = trace_here(bench, args)
        if args.root != "none":
            machine = trace_in_machine(args)
    except measure.Failure as e:
        print("scripts.py: " + str(e), file=sys.stderr)
        return 1
    paths.finish(args, found, SOURCE, "Processor time with a script attached, "
                 "ratios to the untraced program, least of %d rounds" %
                 args.rounds, table(here, machine, names), None)
    return 0


if __name__ == "__main__":
    start(main, sys.argv[1:])
