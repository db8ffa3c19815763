#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The memory of small programs, under every allocator in turn: private dirty
pages and the proportional share of all (PSS), in KiB, medians of several rounds."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import peers
import tables
from suite import die, start

# Each writes the line that it reads, and then waits for the end of its input.
PROGRAMS = {
    "cat": ["cat"],
    "sh": ["sh", "-c", "read -r x; echo $x; read -r x; exit 0"],
    "perl": ["perl", "-pe", "BEGIN { $| = 1 }"],
    "python3": ["python3", "-c", "import sys\n"
                "print(input(), flush=True)\nsys.stdin.read()"],
}
FIGURES = ("Private_Dirty", "Pss")


def parse():
    p = argparse.ArgumentParser(prog="small.py", allow_abbrev=False,
                                description=__doc__)
    peers.add_options(p)
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=9,
                   help="runs of each, of which the median counts (9)")
    p.add_argument("--only", metavar="NAME", action="append", default=[],
                   help="only this program")
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    args = p.parse_args()
    for name in args.only:
        if name not in PROGRAMS:
            die("--only '%s' is not one of %s" % (name, ", ".join(PROGRAMS)))
    return args


def memory(pid):
    """KiB of each of the figures, as the kernel counts them."""
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
        fields = dict(line.split()[:2] for line in f if ":" in line.split()[0])
    return [int(fields[name + ":"]) for name in FIGURES]


def run(bench, argv, preload, more):
    """The memory of a program that waits for input."""
    with tempfile.TemporaryDirectory(dir=bench.root) as scratch:
        os.mkdir(os.path.join(scratch, ".stats"), 0o700)
        env = bench.environment(scratch, more)
        if preload:
            env["LD_PRELOAD"] = preload
        with subprocess.Popen(argv, env=env, cwd=scratch, bufsize=0,
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as p:
            try:
                p.stdin.write(b"1\n")
            except BrokenPipeError:
                pass  # it has ended; the status says how
            said = p.stdout.readline()
            found = memory(p.pid) if said == b"1\n" else None
            p.stdin.close()
        if p.returncode or not found:
            raise measure.Failure("exit status %d" % p.returncode)
        return found


def row(bench, args, name, preloads):
    """A line of the table, and the reasons of those that failed."""
    got = {peer: [] for peer in preloads}
    failed = {}
    order = list(preloads)
    for n in range(args.rounds):
        for peer in order[n % len(order):] + order[:n % len(order)]:
            try:
                got[peer].append(run(bench, PROGRAMS[name], preloads[peer],
                                     peers.settings(args, peer)))
            except measure.Failure as e:
                failed[peer] = str(e)
    cells = ["FAIL" if peer in failed else
             "/".join("%d" % statistics.median(f) for f in zip(*got[peer]))
             for peer in preloads]
    return [name] + cells, failed


def main():
    args = parse()
    found = peers.chosen(args)
    table = [["private dirty/PSS, KiB"] + list(found)]
    status = 0
    # Pages of a library that is not on the disk yet would count as dirty.
    os.sync()
    with measure.Bench(args.build, 60) as bench:
        preloads = peers.preloads(bench, found)
        for name in args.only or PROGRAMS:
            if not shutil.which(PROGRAMS[name][0]):
                print("SKIP %s: it is missing" % name, file=sys.stderr)
                continue
            cells, failed = row(bench, args, name, preloads)
            table.append(cells)
            for peer, reason in failed.items():
                status = 1
                print("FAIL %s under %s: %s" % (name, peer, reason),
                      file=sys.stderr)
    machine = peers.machine(peers.SOURCE)
    head = "commit %s, %s, kernel %s, %d CPUs; medians of %d rounds" % (
        machine["commit"], machine["cpu"], machine["kernel"],
        machine["cpus"], args.rounds)
    print("%s\n\n%s" % (head, tables.plain(table)))
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            print("- %s\n\n%s" % (head, tables.markdown(table)), file=f)
    return status


if __name__ == "__main__":
    start(main)
