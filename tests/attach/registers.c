/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that has numbers in its vector registers, and where it has AVX-512
 * the direction flag set, nearly all the time. It says
 * "ready", and when a file of the name in KF_GO exists, "ok" or the register
 * that has changed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MASK 0x123456789abcdefULL
#define LANES 8 /* of 64 bits */
#define KEPT 5	/* vector registers */

#ifdef __x86_64__

#define SPIN "mov $3000, %%ecx\n1: pause\ndec %%ecx\njnz 1b\n"

static void spin_masked(const uint64_t *in, uint64_t *out, uint64_t *mask)
{
	__asm__ volatile("vmovdqa64 (%0), %%zmm0\n"
			 "vmovdqa64 (%0), %%zmm5\n"
			 "vmovdqa64 (%0), %%zmm15\n"
			 "vmovdqa64 (%0), %%zmm16\n"
			 "vmovdqa64 (%0), %%zmm31\n"
			 "kmovq %3, %%k1\n"
			 "kmovq %3, %%k7\n"
			 "std\n" SPIN "cld\n"
			 "vmovdqa64 %%zmm0, (%1)\n"
			 "vmovdqa64 %%zmm5, 64(%1)\n"
			 "vmovdqa64 %%zmm15, 128(%1)\n"
			 "vmovdqa64 %%zmm16, 192(%1)\n"
			 "vmovdqa64 %%zmm31, 256(%1)\n"
			 "kmovq %%k1, (%2)\n"
			 "kmovq %%k7, 8(%2)\n"
			 :
			 : "r"(in), "r"(out), "r"(mask), "r"(MASK)
			 : "rcx", "memory");
}

static void spin_wide(const uint64_t *in, uint64_t *out)
{
	__asm__ volatile("vmovdqa (%0), %%ymm0\n"
			 "vmovdqa (%0), %%ymm15\n" SPIN "vmovdqa %%ymm0, (%1)\n"
			 "vmovdqa %%ymm15, 64(%1)\n"
			 :
			 : "r"(in), "r"(out)
			 : "rcx", "memory");
}

/* Returns the register that has changed, counted from 1, or 0. */
static int spin(void)
{
	uint64_t in[LANES] __attribute__((aligned(64)));
	uint64_t out[KEPT * LANES] __attribute__((aligned(64)));
	uint64_t mask[2] = {MASK, MASK};
	bool masks = __builtin_cpu_supports("avx512bw");
	int kept = masks ? KEPT : 2, lanes = masks ? LANES : LANES / 2;

	for (unsigned int i = 0; i < LANES; i++)
		in[i] = 0x1111111111111111U * (i + 1);
	if (masks)
		spin_masked(in, out, mask);
	else
		spin_wide(in, out);
	if (mask[0] != MASK || mask[1] != MASK)
		return KEPT + 1;
	for (int i = 0; i < kept; i++) {
		if (memcmp(&out[i * LANES], in, (size_t)lanes * 8) != 0)
			return i + 1;
	}
	return 0;
}

static bool can_spin(void)
{
	return __builtin_cpu_supports("avx");
}

#else

static int spin(void)
{
	return 0;
}

static bool can_spin(void)
{
	return false;
}

#endif

int main(void)
{
	const char *go = getenv("KF_GO");
	int changed = 0;

	puts(can_spin() ? "ready" : "no");
	fflush(stdout);
	if (!can_spin() || !go)
		return 0;
	/* Rarely outside of the loop. */
	while (!changed && access(go, F_OK)) {
		for (int i = 0; i < 200 && !changed; i++)
			changed = spin();
	}
	if (changed)
		printf("register %d of the test changed\n", changed);
	else
		puts("ok");
	return changed != 0;
}
