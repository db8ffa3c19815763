// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread of 1 kHz that allocates in ways that are easy to overlook, and one
// that may. "loops guarded" enters real-time mode, nested; "loops named" only
// has a name.
#include <konfiscator.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

#define ROUNDS 100

static std::vector<long> values;
static volatile bool ends;
static bool guarded;
static FILE *out;

__attribute__((noinline)) void planted_malloc(int round)
{
	char *p = static_cast<char *>(malloc(64));

	memset(p, round, 64);
	free(p);
}

__attribute__((noinline)) void grows_vector(int round)
{
	values.push_back(round);
}

__attribute__((noinline)) void prints_first(int round)
{
	fprintf(out, "%d\n", round);
}

static void control()
{
	pthread_setname_np(pthread_self(), "control-1");
	if (guarded) {
		konf_realtime_enter();
		konf_realtime_enter();
		konf_realtime_leave();
	}
	for (int round = 0; round < ROUNDS; round++) {
		planted_malloc(round);
		grows_vector(round);
		if (round == 10)
			prints_first(round);
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	if (guarded) {
		konf_realtime_leave();
		konf_realtime_leave(); // one too many does nothing
		planted_malloc(0);
	}
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

__attribute__((noinline)) void allowed()
{
	free(malloc(100));
}

static void other()
{
	pthread_setname_np(pthread_self(), "worker");
	while (!ends)
		allowed();
}

int main(int argc, char *argv[])
{
	if (argc != 3)
		return 2;
	guarded = !strcmp(argv[1], "guarded");
	out = fopen(argv[2], "w");
	if (!out)
		return 1;
	std::thread worker(other);
	std::thread loop(control);
	loop.join();
	ends = true;
	worker.join();
	fclose(out);
	return 0;
}
