/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * minimal [FILE]: tags in C. Writes its tags to FILE, as JSON.
 *
 *	cc minimal.c -o minimal
 *	konfiscator run -- ./minimal tags.json && konfiscator tags tags.json
 */
#include <konfiscator.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Volatile, so that the compiler does not remove an allocation. */
static void *volatile kept[4];

static void func_b(void)
{
	KONF_TAG_SCOPE("FuncB");
	void *volatile scratch = malloc(500);

	free(scratch); /* FuncB has no live memory after this */
}

static void func_a(void)
{
	KONF_TAG_SCOPE("FuncA");

	kept[0] = malloc(100);
	kept[0] = realloc(kept[0], 200); /* FuncA: 100 bytes fewer, 200 more */
	func_b();			 /* FuncB within FuncA */
}

static void func_c(void)
{
	KONF_TAG_SCOPE("FuncC");

	kept[1] = calloc(10, 1000 * 1000);
}

static void top_func(void)
{
	KONF_TAG_SCOPE("TopFunc");

	func_a();
	kept[2] = malloc(5);
	func_b();
	func_c();
}

int main(int argc, char **argv)
{
	int rc = 0;

	top_func();
	if (argc > 1)
		rc = konf_tag_write(argv[1], KONF_TAG_JSON);
	if (rc)
		fprintf(stderr, "minimal: %s: %s\n", argv[1], strerror(rc));
	return rc ? 1 : 0;
}
