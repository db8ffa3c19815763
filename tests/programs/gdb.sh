#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# gdb: read debugging information, print types, evaluate, disassemble.
. "$top_srcdir/tests/programs/same.sh"

needs gdb gdb
needs gcc gcc
counts="gdb"

job()
{
	cat >a.c <<'END'
struct pair { int a; struct pair *next; };
static struct pair first = { 7, &first };
int twice(struct pair *p) { return p->a + p->next->a; }
int main(void) { return twice(&first) - 14; }
END
	gcc -g -O0 a.c -o a.out
	gdb -batch -nx -ex 'set confirm off' -ex 'ptype struct pair' \
		-ex 'print first.next->a * 6' -ex 'info line twice' \
		-ex 'info functions twice' -ex 'python print(sum(range(1000)))' \
		./a.out
}

same_result "$@"
