// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A signal handler that allocates and frees comes after each instruction of
 * calls that take and give back blocks: the processor traps after each of them.
 *
 * The handler's blocks are of another size than the call's, and both sizes have
 * blocks ready: so a handler finds no list half done and waits for no lock. It
 * keeps its first few blocks, or the heap would take the pages of a class that
 * only handlers use back while one comes.
 *
 * Prints how often the handler came. Status 77: no such trap on this machine.
 */
#include <stdio.h>

#ifdef __x86_64__
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define NR_ROUNDS 40
#define NR_READY 32
#define CALL_SIZE 64
#define HANDLER_SIZE 208
#define NR_KEPT 20
#define KEPT_EVERY 50

static volatile unsigned long came;
static volatile unsigned long amiss;

static void on_trap(int signal)
{
	unsigned char *p =
		came & 1 ? calloc(1, HANDLER_SIZE) : malloc(HANDLER_SIZE);

	if (!p) {
		amiss++;
		return;
	}
	memset(p, 0xa5, HANDLER_SIZE);
	if (came >= (unsigned long)NR_KEPT * KEPT_EVERY || came % KEPT_EVERY)
		free(p);
	came++;
}

/* Set or clear the trap flag, 0x100. */
#define TRAPS_ON()                               \
	__asm__ volatile("sub $128, %%rsp\n"     \
			 "pushf\n"               \
			 "orq $0x100, (%%rsp)\n" \
			 "popf\n"                \
			 "add $128, %%rsp\n" ::  \
				 : "memory", "cc")
#define TRAPS_OFF()                                \
	__asm__ volatile("sub $128, %%rsp\n"       \
			 "pushf\n"                 \
			 "andq $~0x100, (%%rsp)\n" \
			 "popf\n"                  \
			 "add $128, %%rsp\n" ::    \
				 : "memory", "cc")

static void make_ready(size_t size)
{
	void *ready[NR_READY];

	for (int i = 0; i < NR_READY; i++)
		ready[i] = malloc(size);
	/* One stays, so that the slab is never all free. */
	for (int i = 1; i < NR_READY; i++)
		free(ready[i]);
}

/* The block has to be whole, whoever came in the middle of its calls. */
static void check(const unsigned char *p)
{
	for (int i = 0; i < CALL_SIZE; i++) {
		if (p[i] != (unsigned char)i) {
			amiss++;
			return;
		}
	}
}

static void fill(unsigned char *p)
{
	for (int i = 0; i < CALL_SIZE; i++)
		p[i] = (unsigned char)i;
}

static void one_round(void)
{
	void *p, *q;

	TRAPS_ON();
	p = malloc(CALL_SIZE);
	q = calloc(1, CALL_SIZE);
	TRAPS_OFF();
	fill(p);
	fill(q);
	TRAPS_ON();
	p = realloc(p, CALL_SIZE - 4);
	free(q);
	q = aligned_alloc(64, CALL_SIZE);
	TRAPS_OFF();
	fill(q);
	check(p);
	check(q);
	TRAPS_ON();
	free(p);
	free(q);
	TRAPS_OFF();
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_trap};

	if (sigaction(SIGTRAP, &action, NULL))
		return 1;
	make_ready(CALL_SIZE);
	make_ready(HANDLER_SIZE);
	for (int i = 0; i < NR_ROUNDS; i++)
		one_round();
	printf("%lu\n", came);
	return amiss || !came;
}
#else
int main(void)
{
	puts("SKIP: the processor's traps are those of x86-64");
	return 77;
}
#endif
