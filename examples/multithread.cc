/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * multithread [FILE]: each thread has a tree of its own; one thread uses no
 * tags. Writes its tags to FILE, as JSON.
 *
 *	c++ -std=c++17 -pthread multithread.cc -o multithread
 *	konfiscator run -- ./multithread tags.json
 *	konfiscator tags --aggregate=^Example tags.json
 */
#include <konfiscator.h>

#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

using bytes = std::vector<char>;

/* Results of the threads; the memory of the vector itself has no tag. */
static std::vector<bytes> kept(16);

/*
 * Make the result visible, so that the compiler does not remove the allocation.
 */
static thread_local const void *volatile shown;

static void func_b(int thread)
{
	konf::tag_scope tag("FuncB");

	for (int i = 0; i < 1000 * (thread + 1); i++) {
		bytes shower(100);
		shown = shower.data();
	}
	kept[4 * thread] = bytes(64 * 1024);
}

static void func_a(int thread)
{
	konf::tag_scope tag("FuncA");

	kept[4 * thread + 1] = bytes(100 + 1024 * thread);
	func_b(thread);
}

static void example_thread(int thread)
{
	std::string name = "Example/" + std::to_string(thread);

	/* set the name first: the first tag makes the tree with it */
	pthread_setname_np(pthread_self(), name.c_str());
	konf::tag_scope tag("ExampleThread");

	func_a(thread);
	kept[4 * thread + 2] = bytes(5);
}

static void plain_thread()
{
	kept[3] = bytes(5000);
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;
	int rc = 0;

	for (int i = 0; i < 2; i++)
		threads.emplace_back(example_thread, i);
	threads.emplace_back(plain_thread);
	for (auto &thread : threads)
		thread.join();
	if (argc > 1)
		rc = konf_tag_write(argv[1], KONF_TAG_JSON);
	if (rc)
		std::fprintf(stderr, "multithread: %s: %s\n", argv[1],
			     std::strerror(rc));
	return rc ? 1 : 0;
}
