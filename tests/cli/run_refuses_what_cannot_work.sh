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
	compile -o "$WORK/$kf_out" "$WORK/main.c" "$@" 2>"$WORK/err"
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
refused "it uses musl" "$WORK/musl"
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
PATH=$WORK:$PATH refused "it uses musl" "$WORK/script"
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

# What the library would leave out is refused before the program starts.
not_taken() {
	kf_text=$1
	shift
	expect 125 cli run "$@" -- "$WORK/plain"
	says "$kf_text"
	equal "lines of $*" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
	[ ! -s "$WORK/out" ] || fail "$*: was started all the same"
}
not_taken "run: --sample: '2' is not 0, 1, or from 1K to 1T" --sample=2
not_taken "run: --sample: '2T' is not 0, 1, or from 1K to 1T" --sample=2T
not_taken "run: --snapshot-signal: 'KILL' is not USR1, USR2, HUP" \
	--snapshot-signal=KILL
not_taken "run: --snapshot-signal: '9' is not" --snapshot-signal=9
not_taken "run: --events: '4097' is not a number from 0 to 4096" --events=4097
not_taken "run: --tag-levels: '257' is not a number from 2 to 256" \
	--tag-levels=257
not_taken "run: --tag-nodes: '1' is not a number from 2 to 32768" --tag-nodes=1
not_taken "run: --dir: must not be empty" --dir=
not_taken "run: --name: must not be empty" --name=
not_taken "--dir: $WORK/none: No such file or directory" --dir="$WORK/none"
not_taken "--dir: $WORK/main.c: Not a directory" --dir="$WORK/main.c"
for signal in USR1 SIGUSR1 10 64; do
	expect 0 cli run --snapshot-signal=$signal -- "$WORK/plain"
	equal "what is said of $signal" "" "$(cat "$WORK/err")"
done
for limit in --sample=0 --sample=1 --sample=1K --sample=1T --events=0 --events=4096 \
	--tag-levels=2 --tag-nodes=32768; do
	expect 0 cli run "$limit" -- "$WORK/plain"
	equal "what is said of $limit" "" "$(cat "$WORK/err")"
done
for command in ls stat prune explain doctor; do
	expect 1 "$KF_CLI" --dir="$WORK/none" $command
	says "--dir: $WORK/none: No such file or directory"
done

# A name that is misspelt is told, once each; the tools' own are not.
for command in "$KF_CLI run --" "env LD_PRELOAD=$KF_PRELOAD"; do
	# shellcheck disable=SC2086 # a list
	expect 0 env KONFISCATOR_SMAPLE=512K KONFISCATOR_LIBRARY="$KF_LIB" \
		KONFISCATOR_PAGER=cat KONFISCATOR_SAMPLE=512K \
		KONFISCATOR_ODDITY= $command "$WORK/plain"
	equal "what is said of names" \
		"konfiscator: KONFISCATOR_SMAPLE: there is no such option (did you mean KONFISCATOR_SAMPLE?)
konfiscator: KONFISCATOR_ODDITY: there is no such option" \
		"$(sort -r "$WORK/err")"
	prints started
done
