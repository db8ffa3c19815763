#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A torn or damaged recording is read as far as it goes, and told; random
# damage never makes it crash or hang.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"
[ "$PYTHON3" != none ] || skip "python3 is not installed"

cd "$WORK"
mkrecording rec --random 1000000 500 4 >/dev/null
whole=$(figure mallocs rec)
equal "damage of a good file" 0 "$(figure damaged_chunks rec)"

# cut in the middle of a chunk
head -c 400000 rec >torn
torn=$(figure mallocs torn)
[ "$torn" -gt $((whole / 3)) ] || fail "of $whole mallocs only $torn are left"
[ "$torn" -lt "$whole" ] || fail "a torn file has all $whole mallocs"

# one chunk's head, then one chunk's events
cp rec bad
printf 'xxxx' | dd of=bad bs=1 seek=$((65536 * 5)) conv=notrunc 2>/dev/null
expect 0 "$KF_CLI" report bad
says "1 chunks unreadable"
cp rec bad
head -c 2000 /dev/zero | tr '\0' '\377' |
	dd of=bad bs=1 seek=$((65536 * 5 + 1000)) conv=notrunc 2>/dev/null
expect 0 "$KF_CLI" report bad
says "1 cut short"

told() {
	kf_text=$1
	expect 1 "$KF_CLI" report "$2"
	says "$kf_text"
	equal "lines" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
}
: >empty
echo "no recording" >text
head -c 300 rec >short
head -c 100000 /dev/zero >zero
cp rec major
printf '\011' | dd of=major bs=1 seek=8 conv=notrunc 2>/dev/null
told "recording is starting, or its program was killed" empty
told "neither a recording nor a profile" text
told "header is damaged" short
told "recording is starting" zero
head -c 4096 rec >cut-to-its-header
told "header is damaged" cut-to-its-header
told "version 9" major
told "No such file" missing
told "neither a recording nor a profile" .

cat >fuzz.py <<'END'
import random, subprocess, sys
good = open("rec", "rb").read()[:65536 * 6]
random.seed(1)
views = ["summary", "timeline", "lifetimes", "leaks", "anomalies", "latency"]
ok = told = 0
for i in range(int(sys.argv[2])):
    bad = bytearray(good)
    kind = i % 4
    for k in range(random.choice((1, 3, 50))):
        if kind == 0:      # the header
            at = random.randrange(8, 200)
        elif kind == 1:    # a chunk's head
            at = 65536 * random.randrange(1, 6) + random.randrange(64)
        else:              # anywhere
            at = random.randrange(8, len(bad))
        bad[at] = random.choice((0, 255, 128, random.randrange(256)))
    if kind == 3:
        del bad[random.randrange(len(bad)):]
    open("fuzz", "wb").write(bad)
    p = subprocess.run([sys.argv[1], "report", "--view=" + views[i % 6], "fuzz"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       timeout=120)
    if p.returncode not in (0, 1):
        sys.exit("run %d: status %d: %s" % (i, p.returncode, p.stderr))
    ok += p.returncode == 0
    told += bool(p.stderr)
print(ok, "read,", told, "told")
sys.exit(not (ok and told))
END
"$PYTHON3" fuzz.py "$KF_CLI" 120 || fail "random damage was not survived"
