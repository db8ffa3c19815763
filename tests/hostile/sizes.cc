// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Programs that free blocks with another size than they have, as real ones do:
 * sizes NAME makes and frees some such blocks, checks that no other block
 * suffers, and prints how many bytes it used of one. sizes --list has the
 * names.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <new>

#define BLOCKS 200

struct base {
	long a;
};

struct derived : base {
	long more[30];
};

struct trailing {
	int n;
	char data[1];
};

struct alignas(64) wide {
	char byte[64];
};

struct wider : wide {
	char more[960];
};

template <typename T> static T *hide(T *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static void no_virtual_destructor()
{
	base *p = hide<base>(new derived);

	delete p;
}

static void delete_of_an_array()
{
	delete hide(new int[100]);
}

static void delete_of_chars()
{
	delete hide(new char[1000]);
}

static void cast()
{
	delete reinterpret_cast<base *>(hide(new char[5000]));
}

static void cast_of_many()
{
	delete reinterpret_cast<base *>(hide(new char[500000]));
}

static void flexible()
{
	delete hide(
		static_cast<trailing *>(operator new(sizeof(trailing) + 300)));
}

static void head_and_tail()
{
	void *p = hide(operator new(sizeof(derived) + 1000));

	delete new (p) derived;
}

static void of_another_alignment()
{
	wide *p = hide<wide>(new wider);

	delete p;
}

static void c_with_a_size(const char *name, size_t size)
{
	auto *sized = reinterpret_cast<void (*)(void *, size_t)>(
		dlsym(RTLD_DEFAULT, name));

	/* The C library has it from 2.43 on; another malloc may not. */
	if (sized)
		sized(hide(std::malloc(size)), 1);
	else
		std::free(std::malloc(size));
}

static void free_sized_of_one()
{
	c_with_a_size("free_sized", 1500);
}

static void free_aligned_sized_of_one()
{
	auto *sized = reinterpret_cast<void (*)(void *, size_t, size_t)>(
		dlsym(RTLD_DEFAULT, "free_aligned_sized"));
	void *p = hide(std::aligned_alloc(256, 3072));

	if (sized)
		sized(p, 64, 64);
	else
		std::free(p);
}

/* What rclcpp gives to C libraries to free with, whoever made the block. */
static void allocator_of_chars(void *p)
{
	std::allocator<char>().deallocate(static_cast<char *>(p), 1);
}

static void rclcpp()
{
	allocator_of_chars(hide(std::malloc(80)));
	allocator_of_chars(hide(std::calloc(3, 100)));
	allocator_of_chars(hide(std::realloc(hide(std::malloc(80)), 9000)));
	allocator_of_chars(hide(std::allocator<char>().allocate(40000)));
	allocator_of_chars(hide(std::malloc(400000)));
	allocator_of_chars(nullptr);
}

static const struct {
	const char *name;
	void (*run)();
	unsigned int blocks; /* freed with a size that they cannot have */
} shapes[] = {
	{"no-virtual-destructor", no_virtual_destructor, 1},
	{"delete-of-an-array", delete_of_an_array, 1},
	{"delete-of-chars", delete_of_chars, 1},
	{"cast", cast, 1},
	{"cast-of-many", cast_of_many, 1},
	{"flexible", flexible, 1},
	{"head-and-tail", head_and_tail, 1},
	{"of-another-alignment", of_another_alignment, 1},
	{"free-sized", free_sized_of_one, 1},
	{"free-aligned-sized", free_aligned_sized_of_one, 1},
	{"rclcpp", rclcpp, 5},
};

static unsigned char *blocks[BLOCKS];

static size_t length(size_t i)
{
	return 16 + i * 37 % 3000;
}

/* Blocks that live on around each shape; false: one is not as it was. */
static bool neighbours_hold(size_t from)
{
	bool fine = true;

	for (size_t i = from; i < BLOCKS; i += 3) {
		if (!blocks[i]) {
			blocks[i] = static_cast<unsigned char *>(
				std::malloc(length(i)));
			std::memset(blocks[i], (int)i, length(i));
		}
		for (size_t k = 0; k < length(i); k++)
			fine = fine && blocks[i][k] == (unsigned char)i;
		if (i % 2) {
			std::free(blocks[i]);
			blocks[i] = nullptr;
		}
	}
	return fine;
}

int main(int argc, char **argv)
{
	for (const auto &shape : shapes) {
		if (argc == 2 && !std::strcmp(argv[1], "--list"))
			std::printf("%s\n", shape.name);
		if (argc != 3 || std::strcmp(argv[1], shape.name))
			continue;
		for (int i = std::atoi(argv[2]); i > 0; i--) {
			shape.run();
			if (!neighbours_hold((size_t)i % 3))
				return 1;
		}
		std::printf("%u each\n", shape.blocks);
		return 0;
	}
	return argc != 2;
}
