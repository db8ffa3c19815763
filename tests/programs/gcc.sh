#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# gcc: compile with optimisation, link, run.
. "$top_srcdir/tests/programs/same.sh"

needs gcc gcc
counts="gcc cc1 as collect2 a.out"

job()
{
	awk 'BEGIN {
		print "#include <stdio.h>\n#include <stdlib.h>"
		for (i = 0; i < 150; i++)
			printf "static long f%d(long x) { long s = %d; for (long i = 0; i < x; i++) s += (i * s) ^ x; return s; }\n", i, i
		print "int main(void) { long s = 0; char *p = malloc(100);"
		for (i = 0; i < 150; i++)
			printf "s ^= f%d(%d + (p == NULL));\n", i, i
		print "free(p); printf(\"%ld\\n\", s); return 0; }"
	}' >a.c
	gcc -O2 -pipe -S -o - a.c | grep -v '\.ident' | cksum
	gcc -O2 -g a.c -o a.out && ./a.out
	echo 'int x = "s" + ;' | gcc -fsyntax-only -x c - 2>&1
	echo "status $?"
}

same_result "$@"
