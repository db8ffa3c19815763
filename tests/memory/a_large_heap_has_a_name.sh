#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A heap of a MiB and more is named in /proc/PID/maps where the kernel has names
# of anonymous memory, also where memory came back after a trim. A small program
# makes no call for it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs strace strace
needs python3 python3
workdir

strace -o "$WORK/log" true || skip "strace may not trace here"

# named COMMAND...: the calls that name memory
named()
{
	strace -f -e trace=prctl -o "$WORK/log" -E LD_PRELOAD="$KF_PRELOAD" \
		"$@" >"$WORK/maps" || fail "$* ended with $?"
	sed -n '/PR_SET_VMA/p' "$WORK/log"
}

none=$(named true)
[ -z "$none" ] || fail "true names memory: $none"

cat >"$WORK/prog.py" <<'P'
import ctypes
blocks = [bytes(1000) for _ in range(20000)]
del blocks
ctypes.CDLL(None).malloc_trim(0)
blocks = [bytes(1000) for _ in range(20000)]
print(open("/proc/self/maps").read(), end="")
P
calls=$(PYTHONMALLOC=malloc named python3 "$WORK/prog.py")
echo "$calls" | grep -q '"konfiscator heap"' ||
	fail "no call names the heap: $calls"
case $calls in
*' = 0'*) ;;
*)
	echo "$calls" | grep -v '= -1 EINVAL' &&
		fail "the kernel refuses the calls for another reason"
	echo "this kernel has no names of memory (CONFIG_ANON_VMA_NAME)"
	exit 0
	;;
esac
grep -q '\[anon:konfiscator heap\]' "$WORK/maps" ||
	fail "the name is not in /proc/PID/maps: $(cat "$WORK/maps")"
