#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where preloading cannot work run says why, ends with 125 and starts nothing.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

cat >"$WORK/main.c" <<'END'
#include <stdio.h>
int main(void) { puts("started"); return 0; }
END
build() {
	kf_out=$1
	shift
	"$CC" -o "$WORK/$kf_out" "$WORK/main.c" "$@" 2>"$WORK/err"
}
refused() {
	kf_text=$1
	shift
	expect 125 cli run -- "$@"
	says "$kf_text"
	[ ! -s "$WORK/out" ] || fail "$*: was started all the same"
}
# Overwrite one byte of a copy: offset, octal value.
patch() {
	# shellcheck disable=SC2059 # an octal escape
	printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

build plain || fail "the compiler does not work"
expect 0 cli run -- "$WORK/plain"
prints started

if build static -static; then
	refused "statically linked" "$WORK/static"
	build static-pie -static-pie &&
		refused "statically linked" "$WORK/static-pie"
else
	echo "no static C library here: that part is left out"
fi
build musl -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1
refused "linked to musl" "$WORK/musl"
build odd -Wl,--dynamic-linker=/system/bin/linker64
refused "is not glibc's" "$WORK/odd"
cp "$WORK/plain" "$WORK/machine"
patch "$WORK/machine" 18 363
refused "for another machine" "$WORK/machine"
cp "$WORK/plain" "$WORK/class"
patch "$WORK/class" 4 001
refused "32-bit" "$WORK/class"
if build asan -fsanitize=address; then
	refused "AddressSanitizer" "$WORK/asan"
	build tsan -fsanitize=thread && refused "ThreadSanitizer" "$WORK/tsan"
	build ubsan -fsanitize=undefined &&
		expect 0 cli run -- "$WORK/ubsan"
else
	echo "no sanitizers here: that part is left out"
fi
if command -v clang >/dev/null 2>&1 &&
	clang -fsanitize=address -o "$WORK/clang-asan" "$WORK/main.c" \
		2>/dev/null; then
	refused "AddressSanitizer" "$WORK/clang-asan"
fi

# A script is its interpreter, also through env(1).
printf '#!%s\n' "$WORK/musl" >"$WORK/script"
chmod 755 "$WORK/script"
refused "its interpreter" "$WORK/script"
printf '#!/usr/bin/env -S musl -x\n' >"$WORK/script"
PATH=$WORK:$PATH refused "linked to musl" "$WORK/script"
printf '#!/bin/sh\nexit 5\n' >"$WORK/script"
expect 5 cli run -- "$WORK/script"
# One without a first line is the shell's, as everywhere.
printf 'exit 6\n' >"$WORK/script"
expect 6 cli run -- "$WORK/script"

# The loader run by hand preloads as always.
loader=$(sed -n 's/^.* \(\/.*ld-linux[^ ]*\)$/\1/p' /proc/self/maps | head -n 1)
if [ -x "$loader" ]; then
	expect 0 cli run -- "$loader" "$WORK/plain"
	prints started
fi

if [ "$(id -u)" = 0 ]; then
	cp "$WORK/plain" "$WORK/setid"
	chown 65534 "$WORK/setid"
	chmod 4755 "$WORK/setid"
	refused "set-user-ID" "$WORK/setid"
	chown 0:65534 "$WORK/setid"
	chmod 2755 "$WORK/setid"
	refused "set-group-ID" "$WORK/setid"
fi
