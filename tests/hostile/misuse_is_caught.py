#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What programs do wrong with their heap is caught: by default what is listed
here, in secure mode all but what is listed here."""

import json
import os
import subprocess
import sys
import tempfile

top = os.environ["top_srcdir"]
library = os.environ["KF_LIB"]
build = os.environ["top_builddir"]

ALL = ("small", "medium", "large")
LARGE = ALL[2:]

# Whatever lies around the heap; a shape that is caught by chance is not here.
DEFAULT = {
    "double-free-immediate": ALL,
    "double-free-delayed": ALL,
    "double-free-interleaved": ALL,
    "double-free-then-reuse": ALL,
    "double-free-around-reuse": ALL,
    "invalid-free-wild": ALL,
    "invalid-free-alloca": ALL,
    "invalid-free-stack": ALL,
    "invalid-free-close": ALL,
    "invalid-free-far": ALL,
    "invalid-free-unaligned": ALL[1:],
    "invalid-free-off-by-8": ALL[1:],
    "invalid-free-inside": ALL,
    "write-after-free": LARGE,
    "write-after-free-then-reuse": LARGE,
    "read-after-free-zeroed": LARGE,
    "quick-reuse": ("small", "large"),
    "impossibly-large": ALL,
    "executable-heap": ALL,
}
# A size is a hint: it is told and counted, and the program goes on.
DEFAULT_TOLD = {
    "delete-of-another-size": ALL[1:2],
    "delete-of-an-array": ALL[1:2],
}
DEFAULT_LATE = {
    "invalid-free-unaligned": ALL[:1],
    "invalid-free-off-by-8": ALL[:1],
    "write-after-free": ALL[:2],
}

# The old pointer of a realloc stays what it was, whatever a heap does.
SECURE_MISSES = {
    "use-after-realloc": ALL,
    "array-delete-of-one": ALL[1:2],
}
# What nothing looks at before the program ends.
SECURE_LATE = {
    "memcpy-overflow-1": ALL[:1],
    "memcpy-overflow-32": ALL[:1],
    "memcpy-underflow-1": ALL[:1],
    "memcpy-underflow-32": ALL[:1],
    "write-after-free": ALL[:1],
}


def results():
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(
            [sys.executable, os.path.join(top, "bench", "security.py"),
             "--build", build, "--library", library,
             "--peers", "konfiscator,secure", "--json", out.name],
            check=True)
        with open(out.name, encoding="utf-8") as f:
            return json.load(f)["results"]


def main():
    wrong = []
    found = results()
    by_default = {(r["shape"], r["size"]): r["result"]
                  for r in found["konfiscator"]}
    for shape, sizes in DEFAULT.items():
        for size in sizes:
            if by_default.get((shape, size)) != "caught":
                wrong.append("by default: %s, %s" % (shape, size))
    for shape, sizes in DEFAULT_LATE.items():
        for size in sizes:
            if by_default.get((shape, size)) != "at the end":
                wrong.append("by default, late: %s, %s: %s" % (
                    shape, size, by_default.get((shape, size))))
    for shape, sizes in DEFAULT_TOLD.items():
        for size in sizes:
            if by_default.get((shape, size)) != "told":
                wrong.append("by default, counted: %s, %s: %s" % (
                    shape, size, by_default.get((shape, size))))
    for row in found["secure"]:
        shape, size = row["shape"], row["size"]
        want = "caught"
        if size in SECURE_MISSES.get(shape, ()):
            want = "missed"
        elif size in SECURE_LATE.get(shape, ()):
            want = "at the end"
        if row["result"] != want:
            wrong.append("in secure mode: %s, %s: %s, not %s" % (
                shape, size, row["result"], want))
    assert len(found["secure"]) >= 3 * 41, "shapes are missing"
    if wrong:
        sys.exit("FAIL: " + "\n".join(wrong))


main()
