// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A program in a narrow address space whose new_handler gives up ballast, so
// that new succeeds at the second try. Status 0: it was so.
#include <cstdlib>
#include <new>
#include <sys/resource.h>

static void *ballast;
static int calls;

static void drop_ballast()
{
	calls++;
	std::free(ballast);
	ballast = nullptr;
	if (calls > 1)
		std::set_new_handler(nullptr);
}

int main()
{
	struct rlimit limit = {400u << 20, 400u << 20};

	if (setrlimit(RLIMIT_AS, &limit))
		return 2;
	ballast = std::malloc(200u << 20);
	if (!ballast)
		return 3;
	std::set_new_handler(drop_ballast);
	char *p = static_cast<char *>(::operator new(250u << 20));
	p[0] = p[(250u << 20) - 1] = 1;
	::operator delete(p);
	return calls == 1 ? 0 : 1;
}
