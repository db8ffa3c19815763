#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# An engine that is not to be had gets one line that says why, and the program
# runs on the default engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/engine/engines.sh
. "$top_srcdir/tests/engine/engines.sh"

# told ENGINE WORDS: what is said of it
told() {
	KONFISCATOR_ENGINE=$1 run_under expr 6 '*' 7 \
		>"$WORK/out" 2>"$WORK/err" || fail "$1: the program failed"
	equal "output under $1" 42 "$(cat "$WORK/out")"
	equal "what is said of $1" \
		"konfiscator: KONFISCATOR_ENGINE=$1: $2; the default stays" \
		"$(cat "$WORK/err")"
}

names=$(engine_names | sed 's/$/, /' | tr -d '\n')
for bad in abc -1 100X 1180591620717411303424 FIRSTFIT 'tl sf'; do
	told "$bad" "not ${names}or the path of an engine"
done

missing='cannot open shared object file: No such file or directory'
told "$WORK/none.so" "$missing"
told ./none.so "$missing"
echo text >"$WORK/text.so"
told "$WORK/text.so" 'file too short'
cp "${KF_LIB%.so}-alone.so" "$WORK/alone.so"
told "$WORK/alone.so" 'undefined symbol: konf_engine'

# bad NAME WORDS FLAG...: an engine that is built to be refused
bad() {
	kf_words=$2
	kf_name=$1
	shift 2
	build "$kf_name" outside.c -Wno-unused-function "$@"
	told "$WORK/$kf_name.so" "$kf_words"
}
bad version 'is of version 77 of the engine contract, not 1' -DVERSION=77
bad size "its konf_engine has 8 bytes, not 128" -DSIZE=8
bad flags 'its konf_engine has unknown flags' -DFLAGS=0x4000
bad name 'its konf_engine has no name of 1 to 15 of a-z, 0-9 and -' \
	-DNAME='"Not One"'
bad nameless 'its konf_engine has no name of 1 to 15 of a-z, 0-9 and -' \
	-DNAME=NULL
bad alloc 'its konf_engine has no alloc' -DNO_ALLOC
bad free 'its konf_engine has no free' -DNO_FREE
bad usable 'its konf_engine has no usable_size' -DNO_USABLE_SIZE
bad init 'the moon is full' -DWHY='"the moon is full"'

# What a good one refuses ends the program, with one line.
build outside outside.c
cat >"$WORK/twice.c" <<'END'
#include <stdlib.h>
int main(void) { char *volatile p = malloc(100); free(p); free(p); return 0; }
END
compile -O0 -w -o "$WORK/twice" "$WORK/twice.c"
status=0
KONFISCATOR_ENGINE=$WORK/outside.so run_under "$WORK/twice" 2>"$WORK/err" ||
	status=$?
equal "status of a double free" 134 "$status"
grep -q '^konfiscator: double free of 0x' "$WORK/err" ||
	fail "a double free is not told: $(cat "$WORK/err")"
