/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arithmetic of samples: see distance.h.
 */
#include "sample/distance.h"

#include <string.h>

#define LN2 0.69314718055994530942

/* Terms of the series below, enough for the last bit of a double. */
#define LOG_TERMS 12
#define EXP_TERMS 16

/* SplitMix64 (Steele, Lea and Flood, 2014): any state is a good one. */
static uint64_t distance_draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* From 2^-53 to 1, in steps of 2^-53. */
static double draw_unit(uint64_t *state)
{
	return (double)((distance_draw(state) >> 11) + 1) * 0x1p-53;
}

/*
 * ln of a positive normal number: the exponent, and 2 atanh((m - 1) / (m + 1))
 * of a mantissa between the halves of the square root of 2.
 */
static double natural_log(double x)
{
	uint64_t bits;
	int64_t exponent;
	double m, t, power, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int64_t)(bits >> 52) - 1023;
	bits = (bits & ((1ULL << 52) - 1)) | 1023ULL << 52;
	memcpy(&m, &bits, sizeof(m));
	if (m > 1.41421356237309504880) {
		m /= 2;
		exponent++;
	}
	t = (m - 1) / (m + 1);
	power = t;
	for (int i = 0; i < LOG_TERMS; i++, power *= t * t)
		sum += power / (2 * i + 1);
	return (double)exponent * LN2 + 2 * sum;
}

/* 1 - exp(-x) for x >= 0, precise for small x too. */
static double one_less_exp(double x)
{
	double term, sum = 0;
	int halvings = 0;

	if (x > 40)
		return 1;
	for (; x > 0.5; x /= 2)
		halvings++;
	term = x;
	for (int i = 1; i < EXP_TERMS; i++) {
		sum += term;
		term *= -x / (i + 1);
	}
	/* 1 - e^2 = (1 - e) (1 + e) = (1 - e) (2 - (1 - e)) */
	while (halvings--)
		sum *= 2 - sum;
	return sum;
}

uint64_t kf_distance_next(uint64_t *state, uint64_t mean)
{
	return (uint64_t)((double)mean * -natural_log(draw_unit(state)));
}

bool kf_distance_hit(uint64_t *state, double probability)
{
	return draw_unit(state) <= probability;
}

double kf_distance_probability(uint64_t bytes, uint64_t mean)
{
	return one_less_exp((double)bytes / (double)mean);
}

uint64_t kf_distance_weight(uint64_t bytes, uint64_t mean)
{
	double p = kf_distance_probability(bytes, mean);

	return (uint64_t)((double)bytes / p + 0.5);
}
