#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that does little has little of its pool, under 5 MB; with prefault
# it has all of it from the start, locked in memory where that is allowed, and
# told in one line where not.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir
# shellcheck source=tests/tlsf/tlsf.sh
. "$top_srcdir/tests/tlsf/tlsf.sh"

# kilobytes WHAT ...: of a line of its own status
kilobytes() {
	kf_what=$1
	shift
	tlsf "$@" sed -n "s/^$kf_what:[[:space:]]*\([0-9]*\) kB/\1/p" /proc/self/status \
		2>"$WORK/err"
}

used=$(kilobytes VmHWM)
[ "$used" -gt 0 ] || fail "it has $used kB"
[ "$used" -lt 5000 ] || fail "it has $used kB"
[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"
equal "locked kB" 0 "$(kilobytes VmLck)"

used=$(kilobytes VmRSS KONFISCATOR_TLSF_PREFAULT=1 KONFISCATOR_TLSF_INITIAL=30M)
[ "$used" -gt 30720 ] || fail "with prefault it has only $used kB"

# Kept by what follows: the part below needs it for who is not root.
prlimit --pid $$ --memlock=1000000:
locked=$(kilobytes VmLck KONFISCATOR_TLSF_PREFAULT=1 \
	KONFISCATOR_TLSF_INITIAL=500K)
[ "$locked" -ge 500 ] || fail "only $locked kB are locked"
[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"

# Root may lock what it wants, so who may not is asked.
if [ "$(id -u)" = 0 ]; then
	needs setpriv util-linux
	chmod 0755 "$WORK"
	set -- setpriv --reuid 65534 --clear-groups
fi
cp "$KF_LIB" "$WORK/lib.so"
chmod 0755 "$WORK/lib.so"
used=$("$@" env -u KONFISCATOR_DIR LD_PRELOAD="$WORK/lib.so" \
	KONFISCATOR_ENGINE=tlsf KONFISCATOR_TLSF_PREFAULT=1 \
	KONFISCATOR_TLSF_INITIAL=20M KONFISCATOR_STATS=0 \
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' /proc/self/status 2>"$WORK/err")
[ "$used" -gt 20480 ] || fail "without the right to lock it has $used kB"
equal "what is said of that" "konfiscator: tlsf pool of 20971520 bytes:\
 cannot be locked in memory, ulimit -l allows less" "$(cat "$WORK/err")"
