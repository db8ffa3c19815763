#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# clang: compile with optimisation, link, run.
. "$top_srcdir/tests/programs/same.sh"

needs clang clang
counts="clang a.out"

job()
{
	awk 'BEGIN {
		print "#include <stdio.h>\n#include <stdlib.h>"
		for (i = 0; i < 100; i++)
			printf "struct s%d { int a[%d]; struct s%d *next; };\nint f%d(struct s%d *p) { int n = 0; while (p) { n += p->a[%d]; p = p->next; } return n; }\n", i, i + 1, i, i, i, i
		print "int main(void) { struct s9 *p = calloc(1, sizeof *p); p->a[9] = 42; printf(\"%d\\n\", f9(p)); free(p); return 0; }"
	}' >a.c
	clang -O2 -S -o - a.c | grep -v '\.ident' | cksum
	clang -O2 a.c -o a.out && ./a.out
}

same_result "$@"
