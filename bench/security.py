#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What each malloc notices of what programs do wrong: every shape of
bench/security, with small, medium and large blocks, each in a process of its
own. Noticed is what ends the process at once, or does not happen; what is told
only when the program ends is counted apart, and so is what is told while the
program goes on."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

import peers
from measure import preloadable
from suite import die, start

SIZES = (("small", 8), ("medium", 4096), ("large", 256 * 1024))
SETS = ("wide", "core")
PROGRAMS = ("shapes", "shapes_cxx")
LIMIT = 120  # seconds; no shape takes one
CAUGHT, LATE, TOLD = "caught", "at the end", "told"
MISSED, UNUSABLE = "missed", "unusable"
MARKS = {CAUGHT: "x", LATE: "e", TOLD: "c", MISSED: "-", UNUSABLE: "?"}


def shapes(build):
    """(program, name, sets, sizes) of each shape."""
    found = []
    for program in PROGRAMS:
        path = os.path.join(build, "bench", "security", program)
        if not os.path.exists(path):
            if program == PROGRAMS[0]:
                die("%s is not built" % path)
            continue
        for line in peers.output([path, "--list"]).splitlines():
            sets, name = line.split()
            sizes = SIZES if program == PROGRAMS[0] else SIZES[1:2]
            found.append((path, name, sets.split(","), sizes))
    return found


def run(path, name, size, env):
    """What became of one shape."""
    try:
        done = subprocess.run(
            [path, name, str(size)], env=env, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return UNUSABLE
    told = done.stdout.decode(errors="replace")
    if done.returncode < 0:
        return LATE if "missed" in told else CAUGHT
    if done.returncode == 1 and "stopped" in told:
        return CAUGHT
    if done.returncode == 0 and "missed" in told:
        return TOLD if b"konfiscator: " in done.stderr else MISSED
    return UNUSABLE


def environment(library, more, root):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("KONFISCATOR_")}
    if library:
        env["LD_PRELOAD"] = preloadable(os.path.abspath(library), root)
        if not peers.is_loaded(env["LD_PRELOAD"]):
            die("%s: cannot be preloaded" % library)
    env.update(more)
    return env


def subjects(args, root):
    """Name, environment of each malloc."""
    found = {}
    known = dict(peers.installed())
    known.update(args.peer)
    for name, path in known.items():
        found[name] = environment(path, {}, root)
    if args.library:
        quiet = {"KONFISCATOR_STATS": "0"}
        found["konfiscator"] = environment(args.library, quiet, root)
        found["secure"] = environment(
            args.library, dict(quiet, KONFISCATOR_SECURE="1"), root)
    if args.peers:
        unknown = [p for p in args.peers.split(",") if p not in found]
        if unknown:
            die("no such peer: %s" % ", ".join(unknown))
        found = {p: found[p] for p in args.peers.split(",")}
    return found


def measure(args, root):
    results = {}
    for name, env in subjects(args, root).items():
        results[name] = [
            {"shape": shape, "sets": sets, "size": word,
             "result": run(path, shape, size, env)}
            for path, shape, sets, sizes in shapes(args.build)
            for word, size in sizes]
    return results


def count(rows, group, result):
    return sum(group in r["sets"] and r["result"] == result for r in rows)


def table(results):
    """Rows of shapes, columns of mallocs, a letter for each size."""
    names = list(results)
    lines = ["| shape | " + " | ".join(names) + " |",
             "|---|" + "---|" * len(names)]
    order = []
    for row in results[names[0]]:
        if row["shape"] not in order:
            order.append(row["shape"])
    for shape in order:
        cells = ["".join(MARKS[r["result"]] for r in results[n]
                         if r["shape"] == shape) for n in names]
        lines.append("| %s | %s |" % (shape, " | ".join(cells)))
    for group in SETS:
        total = sum(group in r["sets"] for r in results[names[0]])
        for what, result in (("caught", CAUGHT), ("told at the end", LATE),
                             ("told and counted", TOLD)):
            lines.append("| **%s of %d %s** | %s |" % (
                what, total, group,
                " | ".join(str(count(results[n], group, result))
                           for n in names)))
    return "\n".join(lines) + "\n"


def options():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--library", metavar="PATH",
                   help="the library that is the peers konfiscator and secure")
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--peer", metavar="NAME=PATH", type=peers.pair,
                   action="append", default=[],
                   help="add a library, or replace one")
    p.add_argument("--peers", metavar="NAME,...",
                   help="only these, in this order (all that are found)")
    p.add_argument("--json", metavar="FILE", help="write the results")
    p.add_argument("--markdown", metavar="FILE", help="write the table")
    return p.parse_args()


def main():
    args = options()
    with tempfile.TemporaryDirectory() as root:
        results = measure(args, root)
    text = table(results)
    sys.stdout.write(text)
    sys.stdout.write("each size: small, medium, large; x caught, e told when "
                     "the program ends, c told and counted, - missed\n")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"format": "konfiscator-security 1",
                       "results": results}, f, indent=1)
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    start(main)
