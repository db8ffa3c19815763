/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cfrac: factorization with numbers that live in small blocks.
 *
 * Stands for symbolic and exact arithmetic: each intermediate result is a new
 * block of some 16 to 80 bytes that lives for a few operations. Here Pollard's
 * rho method looks for a factor of a product of primes. Stressed: the fast
 * path alone, with very short lifetimes and a heap of hardly any size.
 *
 * After cfrac (factorization by continued fractions), one of the programs that
 * B. Zorn and D. Grunwald measured in 1992; the method here is another one.
 */
#include "bench/programs/common.h"
#include "bench/programs/natural.h"

#include <stdbool.h>

#define MAX_FACTORS 16

static uint64_t numbers = 4;
static uint64_t factors = 5;

static const struct bench_arg args[] = {
	{"NUMBERS", &numbers, 1, 1 << 20},
	{"FACTORS", &factors, 2, MAX_FACTORS},
};

/* x * y + c modulo n; x is not needed any more. */
static struct natural *step(struct natural *x, const struct natural *y,
			    uint32_t c, const struct natural *n)
{
	struct natural *product = natural_times(x, y);
	struct natural *sum = natural_plus(product, c);
	struct natural *rest = natural_modulo(sum, n);

	free(x);
	free(product);
	free(sum);
	return rest;
}

/* A factor of n, or n itself where c was a bad choice. */
static struct natural *factor(const struct natural *n, uint32_t c)
{
	struct natural *slow = natural_new(2);
	struct natural *fast = natural_new(2);
	struct natural *found = natural_new(1);

	while (found->nr == 1 && found->digits[0] == 1) {
		struct natural *all = natural_new(1);
		int i;

		free(found);
		for (i = 0; i < 64; i++) {
			struct natural *apart;

			slow = step(slow, slow, c, n);
			fast = step(fast, fast, c, n);
			fast = step(fast, fast, c, n);
			apart = natural_distance(slow, fast);
			all = step(all, apart, 0, n);
			free(apart);
		}
		found = natural_divisor(all, n);
		free(all);
	}
	free(slow);
	free(fast);
	return found;
}

static bool is_prime(uint32_t p)
{
	uint32_t d;

	for (d = 3; (uint64_t)d * d <= p; d += 2)
		if (p % d == 0)
			return false;
	return p % 2;
}

static uint32_t prime_from(uint64_t *chance)
{
	uint32_t p = (uint32_t)bench_between(chance, 1U << 26, 1U << 30);

	while (!is_prime(p))
		p++;
	return p;
}

static void factorize(uint64_t *chance)
{
	struct natural *n = natural_new(1);
	struct natural *found, *rest;
	uint64_t i;

	for (i = 0; i < factors; i++) {
		struct natural *p = natural_new(prime_from(chance));
		struct natural *product = natural_times(n, p);

		free(n);
		free(p);
		n = product;
	}
	found = factor(n, 1);
	rest = natural_modulo(n, found);
	if (rest->nr || !found->nr)
		bench_fail("what was found is no factor, digits", found->nr);
	free(found);
	free(rest);
	free(n);
}

int main(int argc, char **argv)
{
	uint64_t chance = 1;
	uint64_t i;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	for (i = 0; i < numbers; i++)
		factorize(&chance);
	return 0;
}
