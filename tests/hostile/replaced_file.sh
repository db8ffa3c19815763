#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stats file that is replaced by a FIFO hurts nobody.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
workdir
need mkfifo

harm() {
	for file in "$KONFISCATOR_DIR"/*; do
		[ -f "$file" ] || continue
		rm "$file"
		mkfifo "$file"
	done
}

same_result
set -- "$KONFISCATOR_DIR"/*
for file in "$@"; do
	[ ! -p "$file" ] || planted=$file
done
[ -n "${planted:-}" ] || fail "there was no file to replace"
