#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No source calls a function that banned.txt forbids in its directory, and no
object of the library refers to one, as what a compiler or a macro put in shows
only there."""
import os
import re
import subprocess
import sys

TOP = os.environ["top_srcdir"]
LIBRARY = os.environ.get("KF_LIB", "")
NOT_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|"
                      r"'(?:\\.|[^'\\\n])*'", re.S)
CALL = re.compile(r"(\.|->)?\s*\b([A-Za-z_]\w*) ?\(")


def lines_of(name):
    with open(os.path.join(TOP, "tests/lint", name), encoding="utf-8") as f:
        return [line for line in f.read().splitlines()
                if line.strip() and not line.startswith("#")]


def below_abi():
    dirs = [line.split()[0] for line in lines_of("layers.txt")]
    return [d for d in dirs if re.fullmatch(r"src/\w+", d) and
            d not in ("src/abi", "src/replayer", "src/reader",
                         "src/cli")]


def table(below):
    """(directories, the file that may, {function: reason}) of each group"""
    groups = []
    for line in lines_of("banned.txt"):
        words = line.split()
        if words[0] == "in":
            may = words[words.index("except") + 1] if "except" in words else ""
            words = words[1:words.index("except")] if may else words[1:]
            dirs = [d for w in words
                    for d in (below if w == "below-abi" else [w])]
            groups.append((dirs, may, {}))
        else:
            why, names = line.strip().split(": ", 1)
            groups[-1][2].update(dict.fromkeys(names.split(), why))
    return groups


def banned_in(groups, path):
    return {name: why for dirs, may, names in groups if path != may and
            any(path.startswith(d + "/") for d in dirs)
            for name, why in names.items()}


def calls_of(path):
    with open(os.path.join(TOP, path), encoding="utf-8",
              errors="replace") as f:
        text = NOT_CODE.sub(lambda m: "\n" * m.group().count("\n") or " ",
                            f.read())
    for call in CALL.finditer(text):
        if not call.group(1):
            yield text.count("\n", 0, call.start(2)) + 1, call.group(2)


def objects(below):
    """(source, what the object refers to) of the library's objects"""
    build = os.path.dirname(os.path.dirname(LIBRARY)) if LIBRARY else ""
    for d in below:
        for where in (d, os.path.join(d, ".libs")):
            where = os.path.join(build, where)
            if not build or not os.path.isdir(where):
                continue
            for name in sorted(os.listdir(where)):
                found = re.fullmatch(r"libkfcore_la-(.*)\.o", name)
                if found:
                    nm = subprocess.run(
                        ["nm", "--undefined-only", os.path.join(where, name)],
                        stdout=subprocess.PIPE, text=True, check=True)
                    yield ("%s/%s.c" % (d, found[1]),
                           {line.split()[-1].split("@")[0]
                            for line in nm.stdout.splitlines() if line})


def main():
    below = below_abi()
    groups = table(below)
    faults = ["banned.txt names %s, which does not exist" % d
              for dirs, _, _ in groups for d in dirs
              if not os.path.isdir(os.path.join(TOP, d))]
    looked_at = 0
    for path in sys.stdin.read().split("\n"):
        if not re.match(r"(src|exporter|bench|tests)/.*\.[ch]$", path):
            continue
        looked_at += 1
        banned = banned_in(groups, path)
        faults += ["%s:%d: %s() is banned here: %s" %
                   (path, line, name, banned[name])
                   for line, name in calls_of(path) if name in banned]
    for source, names in objects(below):
        looked_at += 1
        banned = banned_in(groups, source)
        faults += ["%s refers to %s(), which is banned: %s" %
                   (source, name, banned[name])
                   for name in sorted(names & banned.keys())]
    for fault in faults:
        print(fault)
    print("%d sources and objects looked at, %d faults" %
          (looked_at, len(faults)))
    return 1 if faults or not below or looked_at < 100 else 0


sys.exit(main())
