#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# g++: templates, then a program that uses every operator new it can.
. "$top_srcdir/tests/programs/same.sh"

needs g++ g++
counts="g++ cc1plus a.out"

job()
{
	cat >a.cc <<'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
struct alignas(256) wide { char c[256]; };
int main()
{
	std::map<std::string, std::vector<std::string>> m;
	for (int i = 0; i < 20000; i++)
		m[std::to_string(i % 777)].push_back(std::string(i % 100, 'x'));
	size_t n = 0;
	for (auto &e : m)
		for (auto &s : e.second)
			n += s.size();
	std::cout << m.size() << ' ' << n << '\n';
	auto w = std::make_unique<wide[]>(3);
	std::cout << reinterpret_cast<size_t>(w.get()) % 256 << '\n';
	try {
		volatile size_t huge = (size_t)-1 / 4;
		char *p = new char[huge];
		std::cout << (void *)p << '\n';
	} catch (const std::bad_alloc &) {
		std::cout << "bad_alloc\n";
	}
	volatile size_t huge = (size_t)-1 / 4;
	std::cout << (new (std::nothrow) char[huge] == nullptr) << '\n';
	std::vector<std::thread> t;
	std::vector<std::string> out(8);
	for (int i = 0; i < 8; i++)
		t.emplace_back([i, &out] {
			for (int k = 0; k < 3000; k++)
				out[i] += std::to_string(k * i);
		});
	for (auto &x : t)
		x.join();
	for (auto &s : out)
		std::cout << s.size() << ' ';
	try {
		throw std::runtime_error("thrown");
	} catch (const std::exception &e) {
		std::cout << e.what() << '\n';
	}
}
END
	g++ -O1 -std=c++17 -pthread a.cc -o a.out && ./a.out
}

same_result "$@"
