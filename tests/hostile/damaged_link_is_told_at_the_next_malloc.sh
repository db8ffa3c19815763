#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a program writes over the link of a free block is told, with the block,
# before malloc hands out what it leads to: an address, a number, zeroes or
# a text, in lists of the thread's own blocks and of those that came back from
# another. Where it is only counted the program goes on.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir

# run WHO BYTES VALUE [VARIABLE=VALUE...]: sets status and line, and checks it
run() {
	what="$1, $2 bytes, $3"
	who=$1 bytes=$2 value=$3
	shift 3
	status=0
	env "$@" LD_PRELOAD="$KF_PRELOAD" prlimit --core=0 \
		"${top_builddir:?}/tests/hostile/links" "$bytes" "$who" \
		"$value" >"$WORK/out" 2>"$WORK/err" || status=$?
	read -r block <"$WORK/out"
	told=$(sed 's/, thread [1-9][0-9]*$//' "$WORK/err" | head -n 1)
	told=${told#konfiscator: bytes were written after the free of }
	# Zeroes are in other blocks as well, so it cannot always be said.
	[ "$value,$told" = "zero,a block that is no longer known" ] ||
		equal "$what" "$block of $bytes bytes" "$told"
}

for bytes in 16 48 1024 2048; do
	for value in zero number text decoy block; do
		for who in own other; do
			run "$who" "$bytes" "$value"
			equal "$what: status" 134 "$status"
		done
	done
	for who in own other; do
		run "$who" "$bytes" decoy KONFISCATOR_ON_ERROR=count
		equal "$what: status when counted" 0 "$status"
		equal "$what: its end" 'went on' "$(tail -n 1 "$WORK/out")"
	done
done
