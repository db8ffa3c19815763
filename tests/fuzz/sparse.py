#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""sparse.py FILE > INPUT: a file as fuzz_sparse() in fuzz.c makes it again.

Runs of 16 zeroes and more are left out.
"""

import re
import sys


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    out = sys.stdout.buffer
    out.write(len(data).to_bytes(3, "little") + bytes(2))
    for part in re.finditer(rb"(?:[^\0]|\0{1,15}(?=[^\0]))+", data):
        for at in range(part.start(), part.end(), 65535):
            piece = data[at:min(at + 65535, part.end())]
            out.write(at.to_bytes(3, "little"))
            out.write(len(piece).to_bytes(2, "little"))
            out.write(piece)


main()
