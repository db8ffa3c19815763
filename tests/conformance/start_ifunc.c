/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program whose function is chosen by a resolver that allocates, while the
 * program itself is still being relocated.
 */
#include <stdlib.h>

static int seven(void)
{
	return 7;
}

static int eight(void)
{
	return 8;
}

__attribute__((used)) static int (*resolve(void))(void)
{
	char *p = calloc(1, 1000), *q = malloc(100000);
	int good = p && q && !p[0] && !p[999];

	free(p);
	q = realloc(q, 200000);
	good &= q != NULL;
	free(q);
	return good ? seven : eight;
}

int chosen(void) __attribute__((ifunc("resolve")));

int main(void)
{
	return chosen() == 7 ? 0 : 1;
}
