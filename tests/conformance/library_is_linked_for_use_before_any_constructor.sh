#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the dynamic linker is told of the library: bound at load, never
# unloaded, read-only after relocation, no executable stack, no text
# relocation, no IFUNC among its names, at most two cache lines of thread-local
# storage, no library but the C library needed, and nothing of glibc 2.35 or newer.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
need readelf
workdir

[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
readelf -dW "$KF_LIB" >"$WORK/dynamic"
readelf -lW "$KF_LIB" >"$WORK/segments"
readelf -rW "$KF_LIB" >"$WORK/relocations"
readelf -W --dyn-syms "$KF_LIB" >"$WORK/symbols"

grep -q 'FLAGS_1.*NOW' "$WORK/dynamic" || fail "not bound at load (-z now)"
grep -q 'FLAGS_1.*NODELETE' "$WORK/dynamic" ||
	fail "can be unloaded (-z nodelete)"
! grep -q TEXTREL "$WORK/dynamic" || fail "has text relocations"
grep -q GNU_RELRO "$WORK/segments" || fail "no relro segment"
! grep -q 'GNU_STACK.*E' "$WORK/segments" || fail "has an executable stack"
! grep -q 'LOAD.*RWE' "$WORK/segments" || fail "has a writable code segment"
# The one there is calls src/abi/early.c before the program's resolvers run.
[ "$(grep -ci irelative "$WORK/relocations")" -le 1 ] || fail "has an IFUNC"
! grep -q IFUNC "$WORK/symbols" || fail "has an IFUNC symbol"
# Only initial-exec: a call of __tls_get_addr could allocate.
! grep -q '__tls_get_addr\|TLSDESC\|DTPMOD' "$WORK/relocations" ||
	fail "has dynamic thread-local storage"
tls=$(awk '$1 == "TLS" { print $6 }' "$WORK/segments")
# Surplus for such storage is some hundred bytes: a library that takes much
# cannot be loaded late.
[ "$((${tls:-0}))" -le 128 ] || fail "$tls bytes of thread-local storage"
needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$WORK/dynamic" |
	grep -v '^libc\.so\|^ld-linux' || :)
[ -z "$needed" ] || fail "needs $needed"

newer=$(grep -o 'GLIBC_2\.\(3[5-9]\|[4-9][0-9]\)' "$WORK/symbols" | sort -u)
[ -z "$newer" ] || fail "needs $newer"

# A program may load it late, when it can no longer replace anything.
if [ "${PYTHON3:-none}" != none ]; then
	"$PYTHON3" -c 'import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
lib.malloc.restype = ctypes.c_void_p
lib.free.argtypes = [ctypes.c_void_p]
for n in range(1, 100000, 777):
    p = lib.malloc(n)
    assert p and p % 16 == 0
    lib.free(p)
pid = os.fork()
if not pid:
    lib.free(lib.malloc(100))
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0' "$KF_LIB" || fail "cannot be loaded late"
fi
