#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What sampling costs a pair of malloc and free: off, on at two distances, with
stacks and without, by one thread and by two, beside allocators that sample too.
Or what the stack of a sample costs, by its calls."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import peers
from measure import FOREIGN
from suite import start

# Name, allocator, variables. The others' distances are their words for these.
ROWS = (
    ("off", "", {}),
    ("512K, no stacks", "", {"KONFISCATOR_SAMPLE": "512K",
                             "KONFISCATOR_STACKS": "0"}),
    ("512K", "", {"KONFISCATOR_SAMPLE": "512K"}),
    ("64K, no stacks", "", {"KONFISCATOR_SAMPLE": "64K",
                            "KONFISCATOR_STACKS": "0"}),
    ("64K", "", {"KONFISCATOR_SAMPLE": "64K"}),
    ("jemalloc", "libjemalloc.so.2", {}),
    ("jemalloc, 512K", "libjemalloc.so.2",
     {"MALLOC_CONF": "prof:true,lg_prof_sample:19"}),
    ("jemalloc, 64K", "libjemalloc.so.2",
     {"MALLOC_CONF": "prof:true,lg_prof_sample:16"}),
    ("tcmalloc", "libtcmalloc.so.4", {}),
    ("tcmalloc, 512K", "libtcmalloc.so.4",
     {"TCMALLOC_SAMPLE_PARAMETER": "524288"}),
    ("tcmalloc, 64K", "libtcmalloc.so.4",
     {"TCMALLOC_SAMPLE_PARAMETER": "65536"}),
)


def parse():
    p = argparse.ArgumentParser(prog="samples.py", allow_abbrev=False,
                                description=__doc__)
    p.add_argument("--library", metavar="PATH", required=True)
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--pairs", metavar="N", type=peers.positive,
                   default=10 ** 7, help="of each thread (10^7)")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=5,
                   help="times that all is done in turn (5)")
    p.add_argument("--instructions", action="store_true",
                   help="count instructions a pair with valgrind instead")
    p.add_argument("--stacks", action="store_true",
                   help="what stacks of 10 to 1000 calls cost instead")
    p.add_argument("--markdown", metavar="FILE", help="write the table")
    return p.parse_args()


def run(args, row, program, tool=()):
    """Its output, or None where the allocator is not there or says no."""
    _, library, variables = row
    path = library or os.path.abspath(args.library)
    env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    with tempfile.TemporaryDirectory(prefix="konfiscator-bench.") as scratch:
        env.update(variables, KONFISCATOR_DIR=scratch)
        done = subprocess.run([*tool, "/usr/bin/env", f"LD_PRELOAD={path}",
                               *program], cwd=args.build, env=env,
                              capture_output=True, text=True, check=False)
    if done.returncode or re.search("ld.so: object|Invalid conf", done.stderr):
        return None
    return done.stdout + done.stderr


def samples(args, threads):
    return "bench/samples", str(threads), str(args.pairs)


def instructions(args, row):
    tool = ("valgrind", "--tool=callgrind", "--trace-children=yes",
            "--callgrind-out-file=/dev/null")
    text = run(args, row, samples(args, 1), tool)
    found = re.findall(r"Collected\s*: (\d+)", text or "")
    return int(found[-1]) / args.pairs if found else None


# A block of the program is larger than 16 times this: each one is a sample.
EACH = {"KONFISCATOR_SAMPLE": "1K", "KONFISCATOR_STACK_FRAMES": "1024"}


def stack_costs(args):
    """A pair with stacks, less one without, for each number of calls."""
    lines = ["| calls | ns a stack, without frame pointers | with |",
             "|---:|---:|---:|"]
    for calls in (10, 35, 100, 250, 1000):
        cells = []
        for name in ("stacks", "stacks-frames"):
            program = (f"bench/{name}", str(calls))
            least = {}
            for stacks in ("0", "1") * args.rounds:
                row = ("", "", dict(EACH, KONFISCATOR_STACKS=stacks))
                ns = float(run(args, row, program).split()[0])
                least[stacks] = min(ns, least.get(stacks, ns))
            cells.append(f"{least['1'] - least['0']:.0f}")
        lines.append(f"| {calls} | {cells[0]} | {cells[1]} |")
    return lines


def sample_costs(args):
    times = {}
    rounds = 1 if args.instructions else args.rounds
    for _ in range(rounds):
        for row in ROWS:
            for threads in (1,) if args.instructions else (1, 2):
                if args.instructions:
                    value = instructions(args, row)
                else:
                    text = run(args, row, samples(args, threads))
                    value = float(text.split()[0]) if text else None
                if value is not None:
                    times.setdefault((row[0], threads), []).append(value)
    unit = "instructions" if args.instructions else "ns"
    lines = [f"| sampling | {unit} a pair, 1 thread | 2 threads |",
             "|---|---|---|"]
    for name, _, _ in ROWS:
        cells = [f"{statistics.median(times[name, n]):.1f}"
                 if (name, n) in times else "-" for n in (1, 2)]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
    return lines


def main():
    args = parse()
    lines = stack_costs(args) if args.stacks else sample_costs(args)
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    start(main)
