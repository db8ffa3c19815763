// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Uses every name of the family, and operators new and delete, each with the
 * others' blocks. With "aligned" as its argument also those that give aligned
 * blocks.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <string>
#include <vector>

/* Those that this C library may not have. */
static void free_by(const char *name, void *p, size_t size)
{
	auto fn = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, name);

	if (fn)
		fn(p, size);
	else
		free(p);
}

static void free_aligned_by(void *p, size_t align, size_t size)
{
	auto fn = (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT,
							  "free_aligned_sized");

	if (fn)
		fn(p, align, size);
	else
		free(p);
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void aligned()
{
	void *p = nullptr;

	for (size_t align = 8; align <= 4096; align *= 2) {
		must(!posix_memalign(&p, align, 100), "posix_memalign");
		must(!((uintptr_t)p % align), "posix_memalign's alignment");
		free(p);
		p = aligned_alloc(align, 4096);
		must(p && !((uintptr_t)p % align), "aligned_alloc");
		free_aligned_by(p, align, 4096);
		p = memalign(align, 300);
		must(p && !((uintptr_t)p % align), "memalign");
		p = realloc(p, 3000);
		free(p);
	}
	p = valloc(10);
	must(!((uintptr_t)p % 4096), "valloc");
	free(p);
	p = pvalloc(10);
	must(!((uintptr_t)p % 4096), "pvalloc");
	free(p);
	p = operator new(100, std::align_val_t(64));
	must(!((uintptr_t)p % 64), "new of alignment 64");
	operator delete(p, std::align_val_t(64));
	p = operator new(100, std::align_val_t(64));
	free(p);
}

int main(int argc, char **)
{
	for (size_t size : {1, 24, 1000, 5000, 40000, 300000}) {
		int *p = (int *)reallocarray(nullptr, size, sizeof(*p));

		p[size - 1] = 7;
		p = (int *)reallocarray(p, size + 10, sizeof(*p));
		must(p[size - 1] == 7, "reallocarray");
		p = (int *)realloc(p, size * 8);
		malloc_usable_size(p);
		free(p);
		free_by("free_sized", malloc(size), size);
		free_by("cfree", calloc(1, size), size);
		free(operator new(size));
		free(operator new[](size));
		free(operator new(size, std::nothrow));
		operator delete(malloc(size));
		operator delete[](malloc(size));
		operator delete(operator new(size));
		operator delete[](operator new[](size));
		operator delete(operator new(size), size);
		operator delete[](operator new[](size), size);
		std::vector<char> v(size);
		std::string s(size, 'x');
		free(strdup(s.c_str()));
	}
	if (argc > 1)
		aligned();
	puts("all names served");
	return 0;
}
