#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# gcc: compile C with optimisation.
#
# Usage: gcc.sh prepare | compile
# needs: gcc gcc
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH

# Loops, switches and structs, some hundred functions of each.
make_source()
{
	awk -v functions="$1" 'BEGIN {
	print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>"
	for (i = 0; i < functions; i++) {
		printf "struct s%d { int a, b[%d]; struct s%d *next; };\n",
			i, i % 30 + 1, i
		printf "int f%d(struct s%d *p, int x)\n{\n\tint s = %d;\n",
			i, i, i
		print "\tfor (; p; p = p->next) {"
		print "\t\tfor (int j = 0; j < x; j++)"
		printf "\t\t\ts = s * 31 + (p->b[j %% %d] ^ x);\n", i % 30 + 1
		print "\t\tswitch (s & 7) {"
		for (j = 0; j < 6; j++)
			printf "\t\tcase %d: s += p->a * %d; break;\n",
				j, i * j + 1
		print "\t\t}\n\t}"
		printf "\tprintf(\"f%d %%d\\n\", s);\n\treturn s;\n}\n", i
	} }'
}

if [ "$1" = prepare ]; then
	make_source 80 >"$BENCH_DATA/gcc.c"
	exit
fi
exec gcc -O2 -c -o out.o "$BENCH_DATA/gcc.c"
