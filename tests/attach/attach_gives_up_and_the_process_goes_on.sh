#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Where another thread is in the dynamic linker for long, the call that waits
# for it is taken back; where no thread is at a safe point, no call is made. The
# process goes on, and the one can be attached later. The time that it was stopped
# for is that of all tries.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
needs gdb gdb
needs jq jq
workdir
export KF_GO="$WORK/go"

gives_up() {
	if "$KF_CLI" attach --timeout=1 "$worker" 2>"$WORK/err"; then
		fail "$1: it was attached"
	fi
	grep -q "$1" "$WORK/err" || fail "$1: $(cat "$WORK/err")"
	grep -q '^TracerPid:.0$' "/proc/$worker/status" || fail "$1: traced"
	grep -q '^State:.[SR]' "/proc/$worker/status" || fail "$1: stopped"
}

worker ""
tell_ok "background $top_builddir/tests/attach/.libs/slow.so"
sleep 0.3
gives_up "took too long"
tell_ok "work 100"
: >"$WORK/go"
attaches() {
	"$KF_CLI" attach -q "$worker" 2>"$WORK/err"
}
wait_for 60 attaches || fail "later: $(cat "$WORK/err")"
counters "$worker" "$WORK/a"
tell_ok "work 10"
counters "$worker" "$WORK/b"
grew frees 70 "$WORK/a" "$WORK/b"
"$KF_CLI" detach -q "$worker" || fail "detach failed"

rm "$WORK/go"
echo iterate >&3
"$KF_CLI" attach --timeout=60 "$worker" >"$WORK/tries" 2>&1 &
attach=$!
is_traced() {
	grep -q '^TracerPid:.[1-9]' "/proc/$worker/status"
}
wait_for 60 is_traced || fail "nobody traces it"
sleep 2
: >"$WORK/go"
wait "$attach" || fail "it was not attached: $(cat "$WORK/tries")"
read -r answer <&4
equal iterate ok "$answer"
stopped=$(sed -n 's/.* stopped for \([0-9]*\) ms$/\1/p' "$WORK/tries")
[ "$stopped" -ge 500 ] || fail "two seconds of tries: $(cat "$WORK/tries")"
"$KF_CLI" detach -q "$worker" || fail "detach failed"

# A breakpoint there would take the handler away, and the next signal its life.
rm "$WORK/go"
echo trap >&3
sleep 0.3
gives_up "or blocked SIGTRAP"
: >"$WORK/go"
read -r answer <&4
equal trap ok "$answer"
tell_ok trap
attaches || fail "after a signal: $(cat "$WORK/err")"
tell_ok trap
"$KF_CLI" detach -q "$worker" || fail "detach failed"
tell_ok trap

rm "$WORK/go"
echo "end slowly" >&3
sleep 0.3
gives_up "no thread reached a safe point"
: >"$WORK/go"
leave
