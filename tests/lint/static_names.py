#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Static functions have names of their own.

No two files of the library, the readers, the command and the exporter define a
static function of one name, and in all but the library no name is a single
word. Prints each name that breaks this, with its files."""
import collections
import os
import re
import sys

TOP = os.environ["top_srcdir"]
TWO_WORDS = tuple(os.path.join(*where) + os.sep for where in
                  (("src", "cli"), ("src", "reader"), ("exporter",)))
# clang-format keeps definitions at the left margin
DEFINED = re.compile(r"^static\b[^;{}=()[]*?(?:__attribute__\(\(.*?\)\)\s*)?"
                     r"[^;{}=()[]*?\b([a-z_]\w*)\(", re.M)


def sources():
    for top in ("src", "exporter"):
        for where, _, names in os.walk(os.path.join(TOP, top)):
            for name in names:
                if name.endswith(".c"):
                    yield os.path.relpath(os.path.join(where, name), TOP)


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
    bare = {name: paths for name, paths in files.items() if "_" not in name and
            any(path.startswith(TWO_WORDS) for path in paths)}
    for name, paths in sorted(bare.items()):
        print("%s() in %s does not name its module or object" %
              (name, ", ".join(sorted(paths))))
    return 1 if several or bare else 0


sys.exit(main())
