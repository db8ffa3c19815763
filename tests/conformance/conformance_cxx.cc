// SPDX-License-Identifier: LGPL-2.1-or-later
//
// operator new and delete in all their forms: what they give, what they throw,
// the loop of the new_handler.
#include "case.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static void check_block(void *p, std::size_t align, std::size_t n)
{
	CHECK(p);
	CHECK_EQ(reinterpret_cast<std::uintptr_t>(p) % align, 0);
	CHECK(malloc_usable_size(p) >= n);
	std::memset(p, 1, n);
}

CASE(new_gives_aligned_blocks_that_delete_frees)
{
	for (std::size_t n = 0; n < 3 * KF_MIB_BYTES; n += 1 + n / 3) {
		void *p = ::operator new(n), *q = ::operator new[](n);

		CHECK(p != q);
		check_block(p, __STDCPP_DEFAULT_NEW_ALIGNMENT__, n);
		check_block(q, __STDCPP_DEFAULT_NEW_ALIGNMENT__, n);
		::operator delete(p);
		::operator delete[](q);
	}
}

CASE(sized_and_nothrow_delete_free)
{
	for (std::size_t n = 1; n < 3 * KF_MIB_BYTES; n += 1 + n / 3) {
		::operator delete(::operator new(n), n);
		::operator delete[](::operator new[](n), n);
		::operator delete(::operator new(n, std::nothrow),
				  std::nothrow);
		::operator delete[](::operator new[](n, std::nothrow),
				    std::nothrow);
	}
}

/* Of sizes that come in any order a block may be larger than its size needs. */
CASE(sized_delete_takes_back_what_new_gave_for_any_size)
{
	struct {
		void *p;
		std::size_t n;
	} block[300] = {};
	unsigned int chance = 1;

	for (int i = 0; i < 100000; i++) {
		chance = chance * 1664525 + 1013904223;
		auto &b = block[(chance >> 4) % 300];

		::operator delete(b.p, b.n);
		b.n = 1 + (chance >> 8) % (i % 4 ? 1100 : 40000);
		b.p = ::operator new(b.n);
	}
	for (auto &b : block)
		::operator delete(b.p, b.n);
}

CASE(aligned_new_gives_every_alignment)
{
	for (std::size_t a = 1; a <= KF_MIB_BYTES; a *= 2) {
		std::align_val_t align{a};

		for (std::size_t n = 0; n < KF_MIB_BYTES; n = n * 5 + 1) {
			void *p[] = {::operator new(n, align),
				     ::operator new[](n, align),
				     ::operator new(n, align, std::nothrow),
				     ::operator new[](n, align, std::nothrow)};

			for (void *q : p)
				check_block(q, a, n);
			::operator delete(p[0], align);
			::operator delete[](p[1], align);
			::operator delete(p[2], align, std::nothrow);
			::operator delete[](p[3], align, std::nothrow);
			::operator delete(::operator new(n, align), n, align);
			::operator delete[](::operator new[](n, align), n,
					    align);
		}
	}
}

CASE(new_of_0_bytes_is_unique)
{
	void *p = ::operator new(kf_size(0)), *q = ::operator new(kf_size(0));

	CHECK(p && q && p != q);
	::operator delete(p);
	::operator delete(q);
}

CASE(delete_of_null_does_nothing)
{
	void *null = kf_ptr(nullptr);
	std::align_val_t align{64};

	errno = EXDEV;
	::operator delete(null);
	::operator delete[](null);
	::operator delete(null, 10);
	::operator delete[](null, 10);
	::operator delete(null, std::nothrow);
	::operator delete[](null, std::nothrow);
	::operator delete(null, align);
	::operator delete[](null, align);
	::operator delete(null, 10, align);
	::operator delete[](null, 10, align);
	::operator delete(null, align, std::nothrow);
	::operator delete[](null, align, std::nothrow);
	CHECK_EQ(errno, EXDEV);
}

template <typename Call> static bool throws_bad_alloc(Call call)
{
	try {
		call();
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static const std::size_t impossible[] = {
	SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1, SIZE_MAX / 2, 1ul << 48};

CASE(new_that_fails_throws_bad_alloc)
{
	for (std::size_t n : impossible) {
		volatile std::size_t much = n;

		CHECK(throws_bad_alloc([&] { kf_ptr(::operator new(much)); }));
		CHECK(throws_bad_alloc(
			[&] { kf_ptr(::operator new[](much)); }));
	}
	::operator delete(::operator new(10));
}

CASE(aligned_new_that_fails_throws_bad_alloc)
{
	for (std::size_t n : impossible) {
		for (std::size_t a = 8; a <= 1 << 20; a *= 8) {
			volatile std::size_t much = n;
			std::align_val_t align{a};

			CHECK(throws_bad_alloc(
				[&] { kf_ptr(::operator new(much, align)); }));
			CHECK(throws_bad_alloc([&] {
				kf_ptr(::operator new[](much, align));
			}));
		}
	}
}

CASE(nothrow_new_that_fails_returns_null)
{
	for (std::size_t n : impossible) {
		volatile std::size_t much = n;
		std::align_val_t align{64};

		CHECK(!::operator new(much, std::nothrow));
		CHECK(!::operator new[](much, std::nothrow));
		CHECK(!::operator new(much, align, std::nothrow));
		CHECK(!::operator new[](much, align, std::nothrow));
	}
}

CASE(an_array_whose_size_overflows_throws_bad_array_new_length)
{
	volatile std::size_t nr = SIZE_MAX / 4;
	bool thrown = false;

	try {
		delete[] new std::uint64_t[nr];
	} catch (const std::bad_array_new_length &) {
		thrown = true;
#ifdef __clang__
	} catch (const std::bad_alloc &) {
		// Older ones ask for SIZE_MAX bytes.
		thrown = true;
#endif
	}
	CHECK(thrown);
}

static int calls;

static void give_up_after_three()
{
	if (++calls == 3)
		std::set_new_handler(nullptr);
}

template <typename Call> static void check_handler_loop(Call call)
{
	calls = 0;
	std::set_new_handler(give_up_after_three);
	CHECK(throws_bad_alloc(call));
	CHECK_EQ(calls, 3);
}

CASE(new_calls_the_handler_until_there_is_none)
{
	volatile std::size_t much = SIZE_MAX / 2;
	std::align_val_t align{128};

	check_handler_loop([&] { kf_ptr(::operator new(much)); });
	check_handler_loop([&] { kf_ptr(::operator new[](much)); });
	check_handler_loop([&] { kf_ptr(::operator new(much, align)); });
	check_handler_loop([&] { kf_ptr(::operator new[](much, align)); });
}

CASE(nothrow_new_calls_the_handler_too)
{
	volatile std::size_t much = SIZE_MAX;
	std::align_val_t align{128};

	std::set_new_handler(give_up_after_three);
	CHECK(!::operator new(much, std::nothrow));
	CHECK_EQ(calls, 3);
	calls = 0;
	std::set_new_handler(give_up_after_three);
	CHECK(!::operator new[](much, align, std::nothrow));
	CHECK_EQ(calls, 3);
}

static void throw_a_number()
{
	throw 42;
}

CASE(what_the_handler_throws_goes_through_new)
{
	volatile std::size_t much = SIZE_MAX / 2;
	int got = 0;

	std::set_new_handler(throw_a_number);
	try {
		kf_ptr(::operator new(much));
	} catch (int n) {
		got = n;
	}
	CHECK_EQ(got, 42);
}

static void throw_bad_alloc()
{
	calls++;
	throw std::bad_alloc();
}

CASE(nothrow_new_swallows_the_handlers_bad_alloc)
{
	volatile std::size_t much = SIZE_MAX / 2;

	std::set_new_handler(throw_bad_alloc);
	CHECK(!::operator new(much, std::nothrow));
	CHECK(!::operator new[](much, std::nothrow));
	CHECK_EQ(calls, 2);
}

CASE(new_succeeds_with_what_the_handler_freed)
{
	CHECK_EQ(kf_spawn("cxx_limited", nullptr), 0);
}

CASE(replaced_new_and_delete_serve_every_form)
{
	CHECK_EQ(kf_spawn("cxx_replaced", nullptr), 0);
}

static void use_containers()
{
	std::map<int, std::string> map;
	std::vector<std::string> vector;
	std::ostringstream stream;

	for (int i = 0; i < 3000; i++) {
		map[i * 7919 % 3001] = std::string(i % 200, 'm');
		vector.push_back(std::to_string(i));
		stream << i;
	}
	for (int i = 0; i < 3000; i += 2)
		map.erase(i);
	for (int i = 0; i < 3000; i++)
		CHECK(vector[i] == std::to_string(i));
	CHECK(stream.str().size() > 10000);
}

struct with_destructor {
	std::vector<int> *v = new std::vector<int>(100, 7);
	~with_destructor()
	{
		CHECK(v->size() == 100 && (*v)[99] == 7);
		delete v;
		use_containers();
	}
};

CASE(thread_local_destructors_allocate_and_free)
{
	for (int i = 0; i < 5; i++) {
		std::thread t([] {
			static thread_local with_destructor d;

			CHECK((*d.v)[0] == 7);
			use_containers();
		});
		t.join();
	}
}

static with_destructor global;

CASE(static_objects_allocate_and_free)
{
	CHECK((*global.v)[0] == 7);
	use_containers();
	std::exit(0);
}

CASE(exceptions_in_threads_are_thrown_and_caught)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([] {
			for (int k = 0; k < 200; k++) {
				volatile std::size_t much = SIZE_MAX / 2;

				CHECK(throws_bad_alloc(
					[&] { kf_ptr(::operator new(much)); }));
			}
		});
	for (std::thread &t : threads)
		t.join();
}
