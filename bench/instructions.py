#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Instructions per call on each path, under callgrind: a figure that no noise
of the machine changes. Two runs that differ in nothing but their length are
subtracted, so that the start and the first filling of caches vanish. Call and
jump through the PLT are in it; what the kernel does is not."""

import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import paths
import peers
from paths import Path
from suite import die, start

PATHS = (
    Path("16", "malloc", 16, 1),
    Path("64", "malloc", 64, 1),
    Path("256", "malloc", 256, 1),
    Path("1024", "malloc", 1024, 1),
    Path("64-fill-drain", "malloc", 64, 1000),
    Path("1024-fill-drain", "malloc", 1024, 1000),
    Path("4k", "malloc", 4096, 1),
    Path("32k", "malloc", 32768, 1),
    Path("4k-fill-drain", "malloc", 4096, 200),
    Path("32k-fill-drain", "malloc", 32768, 64),
    Path("256k", "malloc", 262144, 1),
    Path("calloc-64", "calloc", 64, 1),
    Path("realloc-64", "realloc", 64, 1),
    Path("remote-64", "remote", 64, 100),
)
# The functions of paths.c that do nothing but call.
TAKE = ("take_malloc", "take_calloc", "resize")
GIVE = ("give_free",)
CALL_AND_PLT = 2
PAIRS = 20000

NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


def calls(path):
    """Calls and instructions below each function, from callgrind's file: a
    dict of [number, instructions] by the name of the caller."""
    names = {}
    below = {}
    caller = None
    number = None

    def name(text):
        found = NAME.match(text)
        if not found:
            return text
        if found.group(2):
            names[found.group(1)] = found.group(2)
        return names[found.group(1)]

    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            line = line.rstrip("\n")
            if number is not None:
                # "position instructions", of all these calls together.
                at = below.setdefault(caller, [0, 0])
                at[0] += number
                at[1] += int(line.split()[1])
                number = None
            elif line.startswith("fn="):
                caller = name(line[3:])
            elif line.startswith("cfn="):
                name(line[4:])
            elif line.startswith("calls="):
                number = int(line[6:].split()[0])
    return below


def count(args, path, bench, preload, name, rounds):
    """What is below TAKE and GIVE in a run of so many rounds."""
    out = os.path.join(bench.root, "callgrind.out")
    log = os.path.join(bench.root, "callgrind.log")
    if os.path.exists(out):
        os.unlink(out)
    env = bench.environment(bench.data, peers.settings(args, name))
    # No symbol is looked up while we count.
    env["LD_BIND_NOW"] = "1"
    env["KONFISCATOR_DIR"] = bench.data
    if preload:
        env["LD_PRELOAD"] = preload
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out,
         paths.program(args), path.call, str(path.bytes), str(path.blocks),
         str(rounds)],
        env=env, cwd=bench.data, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=open(log, "w"), check=False)
    if done.returncode or not os.path.isfile(out):
        raise measure.Failure("callgrind: status %d: %s" % (
            done.returncode, measure.last_line(log)))
    below = calls(out)

    def total(functions):
        found = [below[f] for f in functions if f in below]
        return sum(f[0] for f in found), sum(f[1] for f in found)
    return total(TAKE), total(GIVE)


def per_call(few, many):
    """Instructions of a call in the steady state, or None without any."""
    number = many[0] - few[0]
    if number <= 0:
        return None
    return (many[1] - few[1]) / number + CALL_AND_PLT


def measured(args, path, bench, preload, name):
    rounds = max(8, PAIRS // path.blocks)
    few = count(args, path, bench, preload, name, rounds)
    many = count(args, path, bench, preload, name, 3 * rounds)
    return [per_call(f, m) for f, m in zip(few, many)]


def cell(figures):
    if isinstance(figures, str):
        return "FAIL"
    return "/".join("%.0f" % f for f in figures if f is not None)


def main(argv):
    args = paths.parser("instructions.py", __doc__, PATHS).parse_args(argv)
    found = peers.chosen(args)
    if not shutil.which("valgrind"):
        die("valgrind is missing (valgrind)")
    table = [["instructions"] + list(found)]
    data = {}
    failed = 0
    with measure.Bench(args.build, 600) as bench:
        preloads = peers.preloads(bench, found)
        for path in paths.chosen(args, PATHS):
            data[path.name] = row = {}
            for name, preload in preloads.items():
                try:
                    row[name] = measured(args, path, bench, preload, name)
                except measure.Failure as e:
                    row[name] = str(e)
                    failed = 1
                    print("FAIL %s under %s: %s" % (path.name, name, e),
                          file=sys.stderr)
            table.append([path.name] + [cell(f) for f in row.values()])
    title = "Instructions of malloc/free (calloc/free, realloc), call and " \
        "PLT included, steady state, callgrind"
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths.finish(args, found, source, title, table, data)
    return failed


if __name__ == "__main__":
    start(main, sys.argv[1:])
