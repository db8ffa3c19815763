/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Natural numbers of any size, for cfrac: plain schoolbook arithmetic.
 */
#include "bench/programs/natural.h"

#include "bench/programs/common.h"

#include <stdbool.h>

static struct natural *make(uint32_t nr)
{
	size_t bytes = sizeof(struct natural) + nr * sizeof(uint32_t);
	struct natural *a = bench_got(malloc(bytes), bytes);

	a->nr = nr;
	return a;
}

static struct natural *trim(struct natural *a)
{
	while (a->nr && !a->digits[a->nr - 1])
		a->nr--;
	return a;
}

struct natural *natural_new(uint32_t word)
{
	struct natural *a = make(1);

	a->digits[0] = word;
	return trim(a);
}

static int compare(const struct natural *a, const struct natural *b)
{
	uint32_t i;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	for (i = a->nr; i-- > 0;)
		if (a->digits[i] != b->digits[i])
			return a->digits[i] < b->digits[i] ? -1 : 1;
	return 0;
}

struct natural *natural_times(const struct natural *a, const struct natural *b)
{
	struct natural *product = make(a->nr + b->nr);
	uint32_t i, j;

	for (i = 0; i < product->nr; i++)
		product->digits[i] = 0;
	for (i = 0; i < a->nr; i++) {
		uint64_t carry = 0;

		for (j = 0; j < b->nr; j++) {
			carry += (uint64_t)a->digits[i] * b->digits[j] +
				 product->digits[i + j];
			product->digits[i + j] = (uint32_t)carry;
			carry >>= 32;
		}
		product->digits[i + b->nr] = (uint32_t)carry;
	}
	return trim(product);
}

struct natural *natural_plus(const struct natural *a, uint32_t word)
{
	struct natural *sum = make(a->nr + 1);
	uint64_t carry = word;
	uint32_t i;

	for (i = 0; i < a->nr; i++) {
		carry += a->digits[i];
		sum->digits[i] = (uint32_t)carry;
		carry >>= 32;
	}
	sum->digits[a->nr] = (uint32_t)carry;
	return trim(sum);
}

struct natural *natural_distance(const struct natural *a,
				 const struct natural *b)
{
	const struct natural *large = compare(a, b) < 0 ? b : a;
	const struct natural *small = large == a ? b : a;
	struct natural *rest = make(large->nr);
	int64_t borrow = 0;
	uint32_t i;

	for (i = 0; i < large->nr; i++) {
		borrow += (int64_t)large->digits[i] -
			  (i < small->nr ? small->digits[i] : 0);
		rest->digits[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	return trim(rest);
}

/* A copy with its digits shifted left by less than 32, and a digit more. */
static struct natural *shifted(const struct natural *a, int shift)
{
	struct natural *b = make(a->nr + 1);
	uint64_t carry = 0;
	uint32_t i;

	for (i = 0; i < a->nr; i++) {
		carry |= (uint64_t)a->digits[i] << shift;
		b->digits[i] = (uint32_t)carry;
		carry >>= 32;
	}
	b->digits[a->nr] = (uint32_t)carry;
	return b;
}

/* top[0..nr] -= q * by[0..nr-1]; whether it was too much. */
static bool reduce(uint32_t *top, const uint32_t *by, uint32_t nr, uint64_t q)
{
	uint64_t carry = 0;
	int64_t borrow = 0;
	uint32_t i;

	for (i = 0; i <= nr; i++) {
		carry += i < nr ? q * by[i] : 0;
		borrow += (int64_t)top[i] - (uint32_t)carry;
		top[i] = (uint32_t)borrow;
		borrow >>= 32;
		carry >>= 32;
	}
	return borrow < 0;
}

static void add_back(uint32_t *top, const uint32_t *by, uint32_t nr)
{
	uint64_t carry = 0;
	uint32_t i;

	for (i = 0; i <= nr; i++) {
		carry += (uint64_t)top[i] + (i < nr ? by[i] : 0);
		top[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

/* Long division: Knuth, volume 2, algorithm 4.3.1 D. */
struct natural *natural_modulo(const struct natural *a, const struct natural *m)
{
	int shift = __builtin_clz(m->digits[m->nr - 1]);
	struct natural *rest = shifted(a, shift);
	struct natural *by = shifted(m, shift);
	uint32_t nr = m->nr;
	uint64_t high = by->digits[nr - 1];
	uint32_t i;

	for (i = a->nr + 1; i-- > nr;) {
		uint32_t *top = &rest->digits[i - nr];
		uint64_t q = ((uint64_t)top[nr] << 32 | top[nr - 1]) / high;

		if (q > UINT32_MAX)
			q = UINT32_MAX;
		if (!reduce(top, by->digits, nr, q))
			continue;
		do
			add_back(top, by->digits, nr);
		while (top[nr]);
	}
	if (rest->nr > nr)
		rest->nr = nr;
	for (i = 0; i < rest->nr; i++) {
		uint64_t next = i + 1 < rest->nr ? rest->digits[i + 1] : 0;

		rest->digits[i] =
			(uint32_t)((next << 32 | rest->digits[i]) >> shift);
	}
	free(by);
	return trim(rest);
}

struct natural *natural_divisor(const struct natural *a,
				const struct natural *b)
{
	struct natural *x = natural_plus(a, 0);
	struct natural *y = natural_plus(b, 0);

	while (y->nr) {
		struct natural *rest = natural_modulo(x, y);

		free(x);
		x = y;
		y = rest;
	}
	free(y);
	return x;
}
