#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# One line says what is wrong, with which block, in which thread; then the
# program ends, or is counted and goes on where on_error says so.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir

shapes=${top_builddir:?}/bench/security/shapes

# told STATUS LINE SHAPE BYTES [VARIABLE=VALUE...]: a line without its numbers
told() {
	want=$1 line=$2 shape=$3 bytes=$4
	shift 4
	status=0
	env "$@" LD_PRELOAD="$KF_PRELOAD" prlimit --core=0 \
		"$shapes" "$shape" "$bytes" >"$WORK/out" 2>"$WORK/err" ||
		status=$?
	equal "$shape: status" "$want" "$status"
	equal "$shape" "konfiscator: $line, thread N" "$(
		sed 's/0x[0-9a-f]*/P/g; s/thread [1-9][0-9]*$/thread N/' \
			"$WORK/err" | head -n 1)"
}

secure=KONFISCATOR_SECURE=1
told 134 'double free of P' double-free-immediate 40000
told 134 'double free of P' double-free-immediate 262144
told 134 'double free of P' double-free-delayed 262144
told 134 'invalid pointer P' invalid-free-stack 64
told 134 'invalid pointer P' invalid-free-unaligned 64 "$secure"
told 134 'double free of P' double-free-delayed 64 "$secure"
told 134 'bytes were written beside the block P of 64 bytes' overflow-1 64 \
	"$secure"
told 134 'bytes were written beside the block P of 64 bytes' \
	memcpy-underflow-1 64 "$secure"
told 134 'bytes were written after the free of P' \
	write-after-free-then-reuse 64 "$secure"

# Of a sample it is known who asked for it: the caller of malloc in its stack.
for bytes in 30000 40000 262144; do
	rm -f "$WORK"/stats/*
	told 134 'double free of P, allocated at P' double-free-immediate \
		$bytes KONFISCATOR_SAMPLE=1K
	site=$(sed -n 's/.* allocated at \(0x[0-9a-f]*\),.*/\1/p' "$WORK/err")
	"${top_builddir:?}/tests/sample/stacks" \
		"$WORK"/stats/shapes.* >"$WORK/stacks"
	awk -v site="$site" -v bytes="$bytes" '
		$1 >= bytes && $5 == 1 && $9 == site { nr++ }
		END { exit nr != 1 }' "$WORK/stacks" ||
		fail "$site allocated no such sample: $(cat "$WORK/stacks")"
done

# Counted, the program goes on to its end.
count=KONFISCATOR_ON_ERROR=count
told 0 'double free of P' double-free-immediate 40000 "$count"
grep -qx missed "$WORK/out" || fail "the program did not go on"
told 0 'invalid pointer P' invalid-free-stack 64 "$count"
told 0 'double free of P' double-free-interleaved 64 "$secure" "$count"
told 0 'bytes were written beside the block P of 64 bytes' overflow-1 64 \
	"$secure" "$count"
told 0 'bytes were written after the free of P' \
	write-after-free-then-reuse 64 "$secure" "$count"

# Another engine goes before nothing.
status=0
KONFISCATOR_ENGINE=tlsf KONFISCATOR_SECURE=1 run_under true 2>"$WORK/err" ||
	status=$?
equal "status with two engines" 0 "$status"
equal "two engines" "konfiscator: KONFISCATOR_ENGINE=tlsf: \
KONFISCATOR_SECURE=1 is set; using the engine secure" "$(cat "$WORK/err")"
