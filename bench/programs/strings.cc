/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * strings: texts in the containers of C++.
 *
 * Stands for C++ programs: words are made, counted in a hash table, kept in a
 * sorted map, joined to lines and split again. Stressed: operator new and
 * delete of strings just over the length that fits into the object, of nodes
 * and of tables that grow.
 *
 * After what profiles of C++ servers show; no suite in particular.
 */
#include "bench/programs/common.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

static uint64_t nr_threads = 1;
static uint64_t rounds = 10;
static uint64_t nr_words = 50000;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"ROUNDS", &rounds, 1, 1ULL << 40},
	{"WORDS", &nr_words, 10, 1 << 24},
};

static std::string word(uint64_t *chance)
{
	/* The number repeats often enough that words are found again. */
	uint64_t number = bench_skewed(chance, 16, nr_words);
	std::string text = "word-" + std::to_string(number);

	while (text.size() < 8 + number % 56)
		text += static_cast<char>('a' + text.size() % 26);
	return text;
}

static std::vector<std::string> split(const std::string &line)
{
	std::vector<std::string> words;
	size_t from = 0;
	size_t to;

	while ((to = line.find(' ', from)) != std::string::npos) {
		words.push_back(line.substr(from, to - from));
		from = to + 1;
	}
	return words;
}

static void round(uint64_t *chance)
{
	std::unordered_map<std::string, uint64_t> count;
	std::map<std::string, std::vector<uint64_t>> where;
	uint64_t found = 0;
	uint64_t line;

	for (line = 0; line < nr_words / 10; line++) {
		std::string text;

		for (int i = 0; i < 10; i++)
			text += word(chance) + " ";
		for (auto &part : split(text)) {
			count[part]++;
			if (line % 4 == 0)
				where[part].push_back(line);
		}
	}
	for (auto &entry : count)
		found += entry.second;
	if (found != nr_words / 10 * 10)
		bench_fail("words were lost, found are", found);
	for (auto &entry : where)
		if (!count.count(entry.first) ||
		    entry.second.size() > count[entry.first])
			bench_fail("a word is not where it was, of bytes",
				   entry.first.size());
}

static void run(struct bench_thread *self)
{
	for (uint64_t i = 0; i < rounds; i++)
		round(&self->chance);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_threads(nr_threads, run);
	return 0;
}
