# SPDX-License-Identifier: LGPL-2.1-or-later
"""check_shapes.py SAID PROFILE: whether the stacks of a profile, as JSON, have the
frames of Python that shapes.py said, with all of its blocks."""

import collections
import json
import os
import sys

LEAST = 300 * 4096  # all that shapes.py keeps is larger, all else smaller

said = collections.Counter()
for line in open(sys.argv[1], encoding="utf-8"):
    if line.startswith("ready"):
        break
    size, *names = line.split(" ")
    said[tuple(name.strip() for name in names)] += int(size)
found = collections.Counter()
for site in json.load(open(sys.argv[2], encoding="utf-8"))["sites"]:
    if site["live"] < LEAST:
        continue
    found[tuple(
        "%s:%s:%d" % (frame["function"], os.path.basename(frame["file"] or ""),
                      frame["line"] or 0)
        for frame in site["frames"] if frame["library"] == "[python]")] += \
        site["live"]
for names in sorted(set(said) | set(found)):
    if said[names] != found[names]:
        print("%d bytes wanted, %d found:\n\t%s" % (
            said[names], found[names], "\n\t".join(names)))
if not said or said != found:
    sys.exit("%d of %d stacks differ" % (
        len([1 for names in said if said[names] != found[names]]), len(said)))
print("%d stacks of %d bytes" % (len(said), sum(said.values())))
