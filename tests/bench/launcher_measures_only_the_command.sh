#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/launch says the peak memory of the command, not of who called it, and
# the time of all that the command waited for; it kills what is left behind.
# The commands are expanded where they run.
# shellcheck disable=SC2016
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
export PYTHON3
launch=$top_builddir/bench/launch

# peak_kib COMMAND...: from a process of 64 MiB at least, which stays as big.
peak_kib() {
	"$PYTHON3" -c '
import subprocess, sys
big = b"x" * (64 << 20)
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True).stdout
words = out.split()
assert words[4:] == [b"exit", b"0"], out
print(int(words[3]))' "$launch" "$WORK/log" 600 "" "$@"
}

small=$(peak_kib true)
[ "$small" -lt 32768 ] || fail "true has a peak of $small KiB"
large=$(peak_kib sh -c '"$PYTHON3" -c "b = b\"x\" * (48 << 20)"; true')
[ "$large" -gt 49152 ] || fail "the child's 48 MiB are not in $large KiB"

# Wall time in ns, user time in us: a child that burns CPU has both.
"$launch" "$WORK/log" 600 "" sh -c \
	'"$PYTHON3" -c "while __import__(\"time\").process_time() < .2: pass"; :' \
	>"$WORK/out"
read -r wall user system _ <"$WORK/out"
[ "$wall" -ge 200000000 ] || fail "a wall time of $wall ns"
[ $((user + system)) -ge 200000 ] || fail "a CPU time of $user + $system us"

# A child of a child, in a session of its own. What is left of a process that
# ended without us waiting for it may still be there for a moment.
"$launch" "$WORK/log" 600 "" sh -c \
	'setsid sleep 600 & echo $! >"$WORK/pid"' >"$WORK/out"
at_exit 'kill "$(cat "$WORK/pid")" 2>/dev/null' # where it was not
gone() {
	! kill -0 "$1" 2>/dev/null
}
wait_for 60 gone "$(cat "$WORK/pid")" || fail "what was left behind lives on"

"$launch" "$WORK/log" 600 "$KF_PRELOAD" sh -c \
	'echo "$LD_PRELOAD"; echo err >&2; exit 9' >"$WORK/out"
equal "output of a command" "$KF_PRELOAD
err" "$(cat "$WORK/log")"
grep -q ' exit 9$' "$WORK/out" || fail "status: $(cat "$WORK/out")"
"$launch" "$WORK/log" 600 "" kf-no-such-command >"$WORK/out"
grep -q ' exit 127$' "$WORK/out" || fail "not found: $(cat "$WORK/out")"
