#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stats files and snapshots with any bytes changed or cut off: the command says
# what it can and ends with 0 or 1, never by a signal.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

cd "$WORK"
mkstats good tag=1:0:main tag=2:1:Top tag=3:2:B tag=4:2:A tag.3.allocated=100
"$KF_CLI" tags --format=json good >good.json

"$PYTHON3" - "$KF_CLI" <<'END'
import os, random, subprocess, sys

cli = sys.argv[1]
random.seed(1)
views = [["--full"], ["--view=flat"], ["--format=json"], ["--view=dot"],
         ["--aggregate=."]]

def damage(data, places):
    data = bytearray(data)
    kind = random.randrange(3)
    if kind == 0:
        return data[: random.randrange(len(data))]
    for _ in range(random.randrange(1, 6)):
        at = random.choice(places)
        n = random.choice([1, 4, 8]) if kind == 1 else 1
        value = random.choice([0, 255, random.randrange(256)])
        data[at : at + n] = bytes([value]) * len(data[at : at + n])
    return data

def run(name, args):
    p = subprocess.run([cli, "tags", *args, name], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    if p.returncode not in (0, 1):
        os.rename(name, "culprit")
        sys.exit(f"{args} of {name}: status {p.returncode}: "
                 f"{p.stderr.decode(errors='replace')}")
    return p.returncode

seen = [0, 0]
stats = open("good", "rb").read()
table = len(stats) - 5 * 256
# where lengths, places and references are: the header and the table
for data, places, name in (
        (stats, [*range(0, 200), *range(table, len(stats))], "bad"),
        (open("good.json", "rb").read(), None, "bad.json")):
    places = places or range(len(data))
    for i in range(150):
        with open(name, "wb") as f:
            f.write(damage(data, places))
        seen[run(name, views[i % len(views)])] += 1
        if os.path.exists(name) and i % 10 == 0:
            run(name, ["--diff", "good"])
if min(seen) < 20:
    sys.exit(f"of the damaged files {seen[0]} were read and {seen[1]} were not")
END
