#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# What cannot be attached is refused before it is stopped, with one line that
# names the reason, and goes on.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
needs gdb gdb
workdir

# refused WHAT PID WORDS [OPTION...]
refused() {
	kf_what=$1 kf_pid=$2 kf_words=$3
	shift 3
	kf_status=0
	"$KF_CLI" attach "$@" "$kf_pid" >"$WORK/out" 2>"$WORK/err" || kf_status=$?
	equal "$kf_what: status" 1 "$kf_status"
	equal "$kf_what: lines" 1 "$(wc -l <"$WORK/err")"
	grep -q "$kf_words" "$WORK/err" ||
		fail "$kf_what: '$(cat "$WORK/err")' has no '$kf_words'"
	[ ! -s "$WORK/out" ] || fail "$kf_what: it said '$(cat "$WORK/out")'"
}

# in_background WHAT COMMAND...: $pid
in_background() {
	shift
	"$@" >/dev/null 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null || :"
	sleep 0.3
}

cat >"$WORK/waits.c" <<'EOF'
#include <stdlib.h>
#include <unistd.h>
int main(void) { free(malloc(1)); sleep(1000); }
EOF

worker ""
refused "no process" 2147483647 "no such process"
"$KF_CLI" attach 2>"$WORK/err" && fail "no argument: it worked"
grep -q "a process is missing" "$WORK/err" || fail "no argument: $(cat "$WORK/err")"

if compile -static -o "$WORK/static" "$WORK/waits.c" 2>/dev/null; then
	in_background static "$WORK/static"
	refused static "$pid" "statically linked"
	refused static "$pid" "konfiscator record --ebpf $pid"
fi
if compile -fsanitize=address -o "$WORK/asan" "$WORK/waits.c" 2>/dev/null; then
	in_background asan "$WORK/asan"
	refused sanitizer "$pid" "has its own malloc"
fi
compile -o "$WORK/waits" "$WORK/waits.c"

(run_under_exec sleep 1000) &
pid=$!
at_exit "kill $pid 2>/dev/null || :"
sleep 0.3
refused preloaded "$pid" "was loaded at the start"

in_background stopped "$WORK/waits"
kill -STOP "$pid"
sleep 0.2
refused stopped "$pid" "kill -CONT $pid"
kill -CONT "$pid"

mkdir "$WORK/bin"
for tool in sed grep; do
	ln -s "$(command -v $tool)" "$WORK/bin/$tool"
done
status=0
PATH=$WORK/bin "$KF_CLI" attach "$pid" 2>"$WORK/err" || status=$?
equal "no gdb: status" 1 "$status"
grep -q "install the package gdb" "$WORK/err" || fail "no gdb: $(cat "$WORK/err")"

gdb -nx -batch -ex "attach $pid" -ex "shell sleep 5" >/dev/null 2>&1 &
tracer=$!
at_exit "kill $tracer 2>/dev/null || :"
is_traced() {
	! grep -q '^TracerPid:.0$' "/proc/$pid/status"
}
wait_for 60 is_traced || fail "gdb does not trace"
refused traced "$pid" "process $tracer (gdb) traces it"
kill "$tracer"
wait "$tracer" || :

if command -v python3 >/dev/null; then
	in_background filter python3 -c '
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
class F(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte),
                ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class P(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(F))]
allow = F(6, 0, 0, 0x7fff0000)
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(22, 2, ctypes.byref(P(1, ctypes.pointer(allow))), 0, 0)
time.sleep(1000)'
	if grep -q '^Seccomp:.2' "/proc/$pid/status"; then
		refused filter "$pid" "force"
		"$KF_CLI" attach -q --force "$pid" || fail "force: it failed"
		"$KF_CLI" detach -q --force "$pid" || fail "force: detach failed"
	fi
fi

# A malloc of the program's own, which others use too.
cat >"$WORK/own.c" <<'EOF'
#include <stddef.h>
#include <unistd.h>
static char room[1 << 20];
static size_t used;
void *malloc(size_t n)
{
	used = (used + 15) & ~15ul;
	used += n;
	return room + used - n;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
int main(void) { sleep(1000); }
EOF
compile -fno-builtin -rdynamic -o "$WORK/own" "$WORK/own.c"
in_background own "$WORK/own"
refused own "$pid" "its malloc is in the program itself"
kill -0 "$pid" || fail "own: it ended"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 0755 "$WORK"
	other() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	}
	status=0
	other "$KF_CLI" attach "$worker" >"$WORK/out" 2>"$WORK/err" || status=$?
	if ! grep -q 'Permission denied' "$WORK/err"; then
		equal "other user: status" 1 "$status"
		grep -q "run as that user or as root" "$WORK/err" ||
			fail "other user: $(cat "$WORK/err")"
	fi
	# root attaches another user's, who cannot read this directory
	chmod 0711 "$WORK"
	cp "$WORK/waits" /tmp/konfiscator-waits.$$
	at_exit "rm -f /tmp/konfiscator-waits.$$"
	in_background other setpriv --reuid=65534 --regid=65534 --clear-groups \
		"/tmp/konfiscator-waits.$$"
	mkdir -m 0700 "$WORK/private"
	cp "$KF_LIB" "$WORK/private/libkonfiscator.so"
	KONFISCATOR_LIBRARY=$WORK/private/libkonfiscator.so "$KF_CLI" attach -q "$pid" ||
		fail "other user's, by root: it failed"
	copy=$(sed -n 's/.* \(\/.*libkonfiscator.so.attached-[0-9a-f]*\)$/\1/p' \
		"/proc/$pid/maps" | head -n 1)
	[ -f "$copy" ] || fail "other user's, by root: no copy"
	"$KF_CLI" detach -q "$pid" || fail "other user's, by root: detach failed"
	[ ! -e "$copy" ] || fail "the copy stays"
fi
leave
