#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a process answers to an order, and what a tracing script prints of names,
# has no controls of either set, no bytes that are no UTF-8, and nothing that
# turns text around: a terminal would obey them.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

# is_printable WHAT: what the last command printed
is_printable() {
	"$PYTHON3" - "$WORK/out" "$WORK/err" <<'END' || fail "$1 is not printable"
import sys, unicodedata
for path in sys.argv[1:]:
    for c in open(path, encoding="utf-8", newline="").read():
        assert c in "\t\n" or unicodedata.category(c) not in (
            "Cc", "Cf", "Zl", "Zp"), "%s: U+%04X" % (path, ord(c))
END
}

# A process that answers orders by itself; where in the file, its layout says.
layout=$top_srcdir/src/stats/layout.h
text=$(sed -n 's/^#define KF_STATS_CONTROL_TEXT //p' "$layout")
cat >"$WORK/answers.py" <<'END'
import mmap, os, struct, subprocess, sys, time
mkstats, path, text_size = sys.argv[1:]
subprocess.run([mkstats, path, "pid=%d" % os.getpid()], check=True)
reply = (b"told\x1b]0;title\x07\x1b[31m" +
         "\u009b31m\u202ecba\u2067".encode() + b"\xff\r\x7f\0")
with open(path, "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
control = struct.unpack_from("<I", m, 96)[0]
text = control + 24
while True:
    request, answer = struct.unpack_from("<2Q", m, control)
    if request != answer:
        refused = m[text:text + 9] == b"sample=7K"
        struct.pack_into("<I", m, control + 16, 22 if refused else 0)
        at = text + int(text_size)
        m[at:at + len(reply)] = reply
        struct.pack_into("<Q", m, control + 8, request)
    time.sleep(0.01)
END
mkdir -p "$WORK/stats"
"$PYTHON3" "$WORK/answers.py" "$top_builddir/tests/fixture/mkstats" \
	"$WORK/stats/answers" "$text" &
pid=$!
at_exit "kill $pid 2>/dev/null"
listed() {
	cli ls 2>/dev/null | grep -q alive
}
wait_for 60 listed || fail "the process has no file"

expect 0 cli ctl "$pid" sample=0
prints 'told\x1b]0;title\x07\x1b[31m\xc2\x9b31m\xe2\x80\xaecba\xe2\x81\xa7\xff\x0d\x7f'
is_printable "an answer"
expect 1 cli ctl "$pid" sample=7K
says 'told\x1b]0;title'
is_printable "a refusal"

grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
	skip "the library was built with --disable-probes"
[ "$(id -u)" = 0 ] || skip "konfiscator runs bpftrace as root only"
mkdir "$WORK/bin"
cat >"$WORK/bin/bpftrace" <<END
#!$PYTHON3
import signal, sys
signal.signal(signal.SIGINT, lambda *a: sys.exit(0))
print("ready", flush=True)
sys.stdout.buffer.write(b"a\tb \x1b[31m\xff" +
                        "\u009b\u202e gr\u00fc\u00df\n".encode())
sys.stdout.flush()
while True:
    signal.pause()
END
chmod 755 "$WORK/bin/bpftrace"
expect 0 env PATH="$WORK/bin:$PATH" "$KF_CLI" trace leaks -- true
prints "$(printf 'a\tb \\x1b[31m\\xff\\xc2\\x9b\\xe2\\x80\\xae gr\303\274\303\237')"
is_printable "a script's output"
