/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mallinfo, mallinfo2, malloc_stats and malloc_info: glibc's forms, filled
 * with the figures of the heap in use.
 */
#include "case.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NR_BLOCKS 8000
#define EACH 1000

static void *block[NR_BLOCKS];

static void *take_blocks(void *arg)
{
	for (int i = 0; i < NR_BLOCKS; i++) {
		block[i] = malloc(EACH);
		CHECK(block[i]);
	}
	return arg;
}

static void *drop_blocks(void *arg)
{
	for (int i = 0; i < NR_BLOCKS; i++)
		free(block[i]);
	return arg;
}

static void check_uordblks_follow(struct mallinfo2 empty, struct mallinfo2 full,
				  struct mallinfo2 again)
{
	size_t bytes = (size_t)NR_BLOCKS * EACH;

	CHECK(full.uordblks >= empty.uordblks + bytes);
	CHECK(full.uordblks <= empty.uordblks + bytes + bytes / 3);
	CHECK_EQ(full.hblkhd, empty.hblkhd);
	CHECK(full.arena >= full.uordblks);
	CHECK(full.arena >= empty.arena);
	CHECK(again.uordblks <= empty.uordblks + bytes / 8);
	CHECK(again.fordblks <= again.arena);
}

CASE(mallinfo2_uordblks_are_the_bytes_in_use)
{
	struct mallinfo2 empty, full, again;

	free(malloc(1));
	empty = mallinfo2();
	take_blocks(NULL);
	full = mallinfo2();
	drop_blocks(NULL);
	again = mallinfo2();
	check_uordblks_follow(empty, full, again);
}

CASE(mallinfo2_counts_the_blocks_of_other_threads)
{
	struct mallinfo2 empty, full, again;

	free(malloc(1));
	empty = mallinfo2();
	kf_in_thread(take_blocks, NULL);
	full = mallinfo2();
	kf_in_thread(drop_blocks, NULL);
	again = mallinfo2();
	check_uordblks_follow(empty, full, again);
}

CASE(mallinfo2_arena_is_what_is_used_and_free)
{
	struct mallinfo2 info;

	take_blocks(NULL);
	for (int i = 0; i < NR_BLOCKS; i += 2)
		free(block[i]);
	info = mallinfo2();
	CHECK_EQ(info.uordblks + info.fordblks, info.arena);
}

CASE(mallinfo2_counts_mapped_blocks_apart)
{
	struct mallinfo2 before, with, after;
	size_t n = 3 * KF_MIB_BYTES;
	void *p, *q;

	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
	before = mallinfo2();
	p = malloc(n);
	q = malloc(n);
	CHECK(p && q);
	with = mallinfo2();
	CHECK_EQ(with.hblks, before.hblks + 2);
	CHECK(with.hblkhd >= before.hblkhd + 2 * n);
	CHECK(with.hblkhd <= before.hblkhd + 2 * n + KF_MIB_BYTES);
	CHECK(with.uordblks < before.uordblks + n);
	free(p);
	free(q);
	after = mallinfo2();
	CHECK_EQ(after.hblks, before.hblks);
	CHECK_EQ(after.hblkhd, before.hblkhd);
}

CASE(mallinfo2_follows_a_mapped_block_that_grows)
{
	size_t before = mallinfo2().hblkhd;
	void *p = malloc(4 * KF_MIB_BYTES);

	p = realloc(p, 16 * KF_MIB_BYTES);
	CHECK(p);
	CHECK_EQ(mallinfo2().hblks, 1);
	CHECK(mallinfo2().hblkhd >= before + 16 * KF_MIB_BYTES);
	CHECK(mallinfo2().hblkhd <= before + 18 * KF_MIB_BYTES);
	free(p);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

CASE(mallinfo_says_what_mallinfo2_says)
{
	struct mallinfo2 wide;
	struct mallinfo old;

	take_blocks(NULL);
	wide = mallinfo2();
	old = mallinfo();
	CHECK_EQ(old.uordblks, wide.uordblks);
	CHECK_EQ(old.arena, wide.arena);
	CHECK_EQ(old.hblks, wide.hblks);
	CHECK_EQ(old.hblkhd, wide.hblkhd);
}

CASE(mallinfo_saturates_at_int_max)
{
	void *p[3];

	for (int i = 0; i < 3; i++) {
		p[i] = malloc(1ul << 30);
		if (!p[i])
			kf_case_skip("this machine refuses three GiB");
	}
	CHECK(mallinfo2().hblkhd >= 3ul << 30);
	CHECK_EQ(mallinfo().hblkhd, INT_MAX);
	free(p[0]);
	free(p[1]);
	CHECK(mallinfo().hblkhd < INT_MAX);
	CHECK(mallinfo().hblkhd >= 1 << 30);
}

/* What @print writes to stderr. */
static char *captured(void (*print)(void))
{
	static char text[1 << 16];
	int fd = memfd_create("stderr", MFD_CLOEXEC), old = dup(2);
	ssize_t len;

	CHECK(fd >= 0 && old >= 0 && dup2(fd, 2) == 2);
	print();
	CHECK(dup2(old, 2) == 2);
	len = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(len > 0);
	text[len] = '\0';
	close(fd);
	close(old);
	return text;
}

/* The number in the line that starts with @label, after @from. */
static unsigned long number_after(const char *from, const char *label)
{
	const char *line = strstr(from, label);

	if (!line)
		kf_case_fail(__FILE__, __LINE__, label);
	CHECK(line == from || line[-1] == '\n');
	line += strlen(label);
	CHECK_EQ(strspn(line, " 0123456789"), strcspn(line, "\n"));
	return strtoul(line, NULL, 10);
}

CASE(malloc_stats_prints_the_text_of_glibc)
{
	char *text = captured(malloc_stats), *total;

	CHECK_EQ(strncmp(text, "Arena 0:\nsystem bytes     = ", 28), 0);
	number_after(text, "in use bytes     = ");
	total = strstr(text, "\nTotal (incl. mmap):\n");
	CHECK(total);
	number_after(total + 1, "system bytes     = ");
	number_after(total + 1, "in use bytes     = ");
	number_after(total + 1, "max mmap regions = ");
	number_after(total + 1, "max mmap bytes   = ");
	CHECK_EQ(text[strlen(text) - 1], '\n');
}

CASE(malloc_stats_tells_of_the_blocks_in_use)
{
	char *total;
	void *p;

	take_blocks(NULL);
	p = malloc(40 * KF_MIB_BYTES);
	CHECK(p);
	free(p);
	p = malloc(33 * KF_MIB_BYTES);
	total = strstr(captured(malloc_stats), "Total (incl. mmap):");
	CHECK(total);
	CHECK(number_after(total, "in use bytes     = ") >=
	      NR_BLOCKS * EACH + 33 * KF_MIB_BYTES);
	CHECK(number_after(total, "system bytes     = ") >=
	      number_after(total, "in use bytes     = "));
	CHECK_EQ(number_after(total, "max mmap regions = "), 1);
	CHECK(number_after(total, "max mmap bytes   = ") >= 40 * KF_MIB_BYTES);
	CHECK(number_after(total, "max mmap bytes   = ") <= 41 * KF_MIB_BYTES);
}

CASE(malloc_stats_without_a_stderr_does_no_harm)
{
	int old = dup(2);

	CHECK(old >= 0);
	close(2);
	malloc_stats();
	CHECK(dup2(old, 2) == 2);
}

CASE(malloc_info_with_options_is_einval)
{
	static char text[4096];
	FILE *f = fmemopen(text, sizeof(text), "w");
	int r;

	CHECK(f);
	for (int options = -1; options <= 3; options++) {
		if (!options)
			continue;
		errno = 0;
		r = malloc_info(options, f);
		CHECK(r == EINVAL || (r == -1 && errno == EINVAL));
	}
	fclose(f);
	CHECK_EQ(text[0], 0);
}

/* The report as a string, through a stream that allocates as it grows. */
static char *info_text(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CHECK(f);
	CHECK_EQ(malloc_info(0, f), 0);
	CHECK_EQ(fclose(f), 0);
	CHECK(text && len == strlen(text));
	return text;
}

/* One tag from @p on, checked against the stack of open ones; its end. */
static const char *check_tag(const char *p, char open[][32], int *depth)
{
	const char *end = strchr(p, '>'), *name = p + 1;
	bool closing = *name == '/', empty = end && end[-1] == '/';
	size_t len;
	int quotes = 0;

	CHECK(end);
	name += closing;
	len = strcspn(name, " />");
	CHECK(len > 0 && len < 32 && isalpha((unsigned char)*name));
	for (const char *q = name; q < end; q++) {
		CHECK(*q != '<' && *q != '&');
		quotes += *q == '"';
	}
	CHECK_EQ(quotes % 2, 0);
	if (closing) {
		CHECK(*depth > 0);
		--*depth;
		CHECK(strlen(open[*depth]) == len &&
		      !strncmp(open[*depth], name, len));
	} else if (!empty) {
		CHECK(*depth < 8);
		memcpy(open[*depth], name, len);
		open[(*depth)++][len] = '\0';
	}
	return end + 1;
}

static void check_well_formed(const char *text)
{
	char open[8][32];
	int depth = 0;
	const char *p = strchr(text, '<');

	CHECK(p == text);
	while (p) {
		p = check_tag(p, open, &depth);
		if (!depth)
			break;
		p = strchr(p, '<');
	}
	CHECK(p);
	CHECK_EQ(depth, 0);
	CHECK_EQ(strspn(p, " \n"), strlen(p));
}

CASE(malloc_info_is_well_formed_xml)
{
	char *text = info_text();

	CHECK_EQ(strncmp(text, "<malloc version=\"", 17), 0);
	check_well_formed(text);
	free(text);
	take_blocks(NULL);
	kf_in_thread(drop_blocks, NULL);
	free(malloc(KF_MIB_BYTES));
	text = info_text();
	check_well_formed(text);
	free(text);
}

static unsigned long largest_size(const char *text)
{
	unsigned long largest = 0;

	for (const char *p = strstr(text, "size=\""); p;
	     p = strstr(p + 1, "size=\"")) {
		unsigned long n = strtoul(p + 6, NULL, 10);

		largest = n > largest ? n : largest;
	}
	return largest;
}

CASE(malloc_info_tells_of_our_heap)
{
	char *text = info_text();

	CHECK(largest_size(text) < NR_BLOCKS * EACH);
	free(text);
	take_blocks(NULL);
	text = info_text();
	CHECK(largest_size(text) >= NR_BLOCKS * EACH);
	CHECK(strstr(text, "<system type=\"current\" size=\""));
	CHECK(strstr(text, "<total type=\"mmap\" count=\""));
	free(text);
}
