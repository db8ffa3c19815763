# SPDX-License-Identifier: LGPL-2.1-or-later
"""What bench/micro.py and bench/instructions.py share: the paths through
malloc and free that bench/paths takes, and how a table of them is kept."""

import argparse
import collections
import json
import os

import peers
import tables
from suite import die

# The words after the name are bench/paths' CALL, BYTES and BLOCKS.
Path = collections.namedtuple("Path", "name call bytes blocks")


def parser(name, description, paths):
    p = argparse.ArgumentParser(prog=name, allow_abbrev=False,
                                description=description)
    peers.add_options(p)
    p.add_argument("--only", metavar="NAME", action="append", default=[],
                   choices=[path.name for path in paths],
                   help="only this path")
    p.add_argument("--json", metavar="FILE", help="save what was measured")
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    return p


def program(args):
    path = os.path.join(args.build, "bench", "paths")
    if not os.path.isfile(path):
        die("%s is not there: build it, or give --build" % path)
    return path


def chosen(args, paths):
    return [p for p in paths if not args.only or p.name in args.only]


def finish(args, found, source, title, table, data):
    """Print the table with what it was made on, and save it."""
    machine = peers.machine(source)
    lines = ["commit %s, %s, kernel %s, %d CPUs" %
             (machine["commit"], machine["cpu"], machine["kernel"],
              machine["cpus"])]
    kept = peers.described(args, found, machine["commit"])
    lines += ["%s: %s" % (n, p["version"]) for n, p in kept.items()]
    print("\n".join(lines + ["", title, "", tables.plain(table)]))
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            print("\n".join(["- " + l for l in lines] +
                            ["", title, "", tables.markdown(table)]), file=f)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(dict(machine, peers=kept, paths=data), f, indent=1)
            f.write("\n")
