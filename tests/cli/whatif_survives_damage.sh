#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recording that is cut short is replayed up to its last whole event; random
# damage makes neither the command nor the replayer crash or hang.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"
[ "$PYTHON3" != none ] || skip "python3 is not installed"

cd "$WORK"
mkrecording rec --random 1000000 500 4 >/dev/null
head -c 400000 rec >torn
expect 0 "$KF_CLI" --format=csv replay torn
equal "rows" 2 "$(wc -l <"$WORK/out" | tr -d ' ')"
head -c 2000 /dev/zero | tr '\0' '\377' |
	dd of=torn bs=1 seek=$((65536 * 5 + 1000)) conv=notrunc 2>/dev/null
expect 0 "$KF_CLI" replay torn
says "replay: damaged: 0 chunks unreadable, 1 cut short"

cat >fuzz.py <<'END'
import random, subprocess, sys
good = open("rec", "rb").read()[:65536 * 6]
random.seed(2)
ok = told = 0
for i in range(int(sys.argv[2])):
    bad = bytearray(good)
    for k in range(random.choice((1, 3, 50))):
        if i % 3 == 0:     # the header
            at = random.randrange(8, 200)
        elif i % 3 == 1:   # a chunk's head
            at = 65536 * random.randrange(1, 6) + random.randrange(64)
        else:              # anywhere
            at = random.randrange(8, len(bad))
        bad[at] = random.choice((0, 255, 128, random.randrange(256)))
    open("fuzz", "wb").write(bad)
    p = subprocess.run([sys.argv[1], "replay", "--touch=none", "fuzz"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       timeout=120)
    if p.returncode not in (0, 1) or b"signal" in p.stderr:
        sys.exit("run %d: status %d: %s" % (i, p.returncode, p.stderr))
    ok += p.returncode == 0
    told += bool(p.stderr)
print(ok, "replayed,", told, "told")
sys.exit(not (ok and told))
END
"$PYTHON3" fuzz.py "$KF_CLI" 90 || fail "random damage was not survived"
