// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A C++ library for dlopen into a C program, where libstdc++ is in nobody's
// global scope.
#include <cstddef>
#include <new>

extern "C" int plugin_new_throws(std::size_t n)
{
	try {
		::operator delete(::operator new(n));
		return 0;
	} catch (const std::bad_alloc &) {
		return 1;
	}
}

static int calls;

static void handler()
{
	if (++calls == 3)
		throw 3;
}

extern "C" int plugin_new_handler_runs()
{
	std::new_handler old = std::set_new_handler(handler);
	volatile std::size_t much = static_cast<std::size_t>(-1) / 4;
	int got = 0;

	try {
		::operator delete(::operator new(much));
	} catch (int n) {
		got = n;
	}
	std::set_new_handler(old);
	return got;
}
