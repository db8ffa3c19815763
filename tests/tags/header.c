/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All of the header, in C and in C++; prints what the library says, or that
 * there is none.
 */
#include "konfiscator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile block;

static void count(void *arg, const char *key, uint64_t value)
{
	const char *ending = ".work.load.nCallsTo_malloc";
	size_t len = strlen(key);

	if (len > strlen(ending) && !strcmp(key + len - strlen(ending), ending))
		*(uint64_t *)arg += value;
}

static void work(void)
{
#ifdef __cplusplus
	konf::tag_scope both("work", "load");
	konf::tag_scope again(konf_tag_capture());

	again.release();
#else
	static const char *const names[] = {"load"};
	KONF_TAG_SCOPE("work");

	konf_tag_push_all(names, 1);
#endif
	block = malloc(100);
	konf_tag_pause();
	free(malloc(100));
	konf_tag_resume();
#ifndef __cplusplus
	konf_tag_pop();
#endif
}

int main(void)
{
	struct konf_tags tags = konf_tag_capture();
	uint64_t mallocs = 0;

	work();
	konf_tag_pop_all(konf_tag_adopt(tags));
	konf_tag_reset_peaks();
	if (konf_tag_query(count, &mallocs)) {
		printf("no library, limit %d, %s\n",
		       (int)konf_tag_limit(KONF_TAG_LEVELS),
		       konf_tag_write("/dev/null", KONF_TAG_JSON) &&
				       konf_tag_snapshot("/dev/null")
			       ? "nothing written"
			       : "written");
		return 0;
	}
	printf("%d malloc, limit %d, %s\n", (int)mallocs,
	       (int)konf_tag_limit(KONF_TAG_LEVELS),
	       konf_tag_write("/dev/null", KONF_TAG_DOT) ? "nothing written"
							 : "written");
	free(block);
	return 0;
}
