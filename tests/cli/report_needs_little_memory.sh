#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recording is read in less memory than it is large, and shows on a terminal
# how far it is.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"
[ "$PYTHON3" != none ] || skip "python3 is not installed"

cd "$WORK"
live=$(mkrecording rec --random 16000000 20000 8)
cat >run.py <<'END'
import os, pty, resource, subprocess, sys

master, slave = pty.openpty()
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=slave)
os.close(slave)
shown = b""
while True:
    try:
        some = os.read(master, 4096)
    except OSError:
        break
    if not some:
        break
    shown += some
blocks = p.stdout.read().decode().split("\n")
p.wait()
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert p.returncode == 0, p.returncode
assert b"% of 15.4Mi" in shown, shown
assert shown.endswith(b"\r\x1b[K"), shown
print(most)
END
most=$("$PYTHON3" run.py "$KF_CLI" report rec)
equal "live blocks" "$live" "$(figure live_blocks rec)"
equal "the bar without a terminal" "" "$("$KF_CLI" report rec 2>&1 >/dev/null)"
if is_sanitized; then
	echo "a sanitizer takes memory: not judged"
elif [ "$most" -gt 12000 ]; then
	fail "$most KiB for a recording of 16 MB"
fi
