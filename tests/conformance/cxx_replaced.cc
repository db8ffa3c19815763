// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A program that replaces operator new(size_t) and operator delete(void *).
// The standard says of the other forms that they call these two, so a library
// that defines all forms must not go past them. Status 0: none does.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

static int news, deletes;

// Blocks begin 16 bytes in, so that no other free can take them.
void *operator new(std::size_t n)
{
	char *p = static_cast<char *>(std::malloc(n + 16));

	if (!p)
		throw std::bad_alloc();
	news++;
	return p + 16;
}

void operator delete(void *p) noexcept
{
	if (!p)
		return;
	deletes++;
	std::free(static_cast<char *>(p) - 16);
}

static int failed;

static void expect(const char *what, int nr)
{
	if (news == nr && deletes == nr)
		return;
	std::fprintf(stderr, "# %s: %d news, %d deletes, not %d\n", what, news,
		     deletes, nr);
	failed = 1;
	news = deletes = nr;
}

// Only a form that went through the replaced new may be deleted that way.
static void drop(void *p, int before)
{
	if (news > before)
		::operator delete(p);
}

int main()
{
	volatile std::size_t n = 100;

	drop(::operator new(n), 0);
	expect("new", 1);
	drop(::operator new[](n), 1);
	expect("new[]", 2);
	drop(::operator new(n, std::nothrow), 2);
	expect("nothrow new", 3);
	drop(::operator new[](n, std::nothrow), 3);
	expect("nothrow new[]", 4);
	if (failed)
		return 1;
	::operator delete[](::operator new(n));
	expect("delete[]", 5);
	::operator delete(::operator new(n), n);
	expect("sized delete", 6);
	::operator delete[](::operator new(n), n);
	expect("sized delete[]", 7);
	::operator delete(::operator new(n), std::nothrow);
	expect("nothrow delete", 8);
	::operator delete[](::operator new(n), std::nothrow);
	expect("nothrow delete[]", 9);
	return failed;
}
