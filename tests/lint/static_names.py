#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No two files of the preloaded library define a static function of one name.

Prints each name that stands in several files, with the files."""
import collections
import os
import re
import sys

TOP = os.environ["top_srcdir"]
OTHERS = ("cli", "reader")
# clang-format keeps definitions at the left margin
DEFINED = re.compile(r"^static\b[^;{}=()]*?(?:__attribute__\(\(.*?\)\)\s*)?"
                     r"[^;{}=()]*?\b([a-z_]\w*)\(", re.M)


def sources():
    top = os.path.join(TOP, "src")
    for where in sorted(os.listdir(top)):
        if where in OTHERS or not os.path.isdir(os.path.join(top, where)):
            continue
        for name in sorted(os.listdir(os.path.join(top, where))):
            if name.endswith(".c"):
                yield os.path.join("src", where, name)


def main():
    files = collections.defaultdict(set)
    for path in sources():
        with open(os.path.join(TOP, path), encoding="utf-8") as f:
            for name in DEFINED.findall(f.read()):
                if not name.startswith("__"):
                    files[name].add(path)
    if len(files) < 100:
        sys.exit("only %d static functions found" % len(files))
    several = {name: paths for name, paths in files.items() if len(paths) > 1}
    for name, paths in sorted(several.items()):
        print("%s() is in %s" % (name, ", ".join(sorted(paths))))
    return 1 if several else 0


sys.exit(main())
