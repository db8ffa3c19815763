#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# nm, objdump, readelf, strip and ld: read and write objects.
. "$top_srcdir/tests/programs/same.sh"

needs objdump binutils
needs gcc gcc
counts="as ld objdump readelf nm strip"

job()
{
	for i in $(seq 60); do
		printf 'int f%d(int x) { return x * %d; }\n' "$i" "$i"
	done >a.c
	gcc -O1 -S a.c -o a.s && as a.s -o a.o && ld -r a.o -o b.o
	objdump -d b.o | sed 1,3d | cksum
	readelf -sW b.o | grep -c FUNC
	nm b.o | sort -k 3 | tail -n 2
	strip -o c.o b.o && cksum c.o
}

same_result "$@"
