// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What C++ programs do wrong with new and delete; see shapes.c for how this is
 * called and how it ends.
 */
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

struct large {
	std::size_t word[9];
};

template <typename T> static T *hide(T *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static void delete_of_another_size()
{
	delete reinterpret_cast<large *>(hide(new char));
}

static void array_delete_of_one()
{
	delete[] hide(new char);
}

static void delete_of_an_array()
{
	delete hide(new char[4096]);
}

static void array_delete_of_a_string()
{
	delete[] hide(new std::string);
}

static void delete_of_strings()
{
	delete hide(new std::string[4096]);
}

static const struct {
	const char *name;
	void (*run)();
} shapes[] = {
	{"delete-of-another-size", delete_of_another_size},
	{"array-delete-of-one", array_delete_of_one},
	{"delete-of-an-array", delete_of_an_array},
	{"array-delete-of-a-string", array_delete_of_a_string},
	{"delete-of-strings", delete_of_strings},
};

int main(int argc, char **argv)
{
	if (argc == 2 && !std::strcmp(argv[1], "--list")) {
		for (const auto &shape : shapes)
			std::printf("wide %s\n", shape.name);
		return 0;
	}
	for (const auto &shape : shapes) {
		if (argc != 3 || std::strcmp(argv[1], shape.name))
			continue;
		shape.run();
		return write(1, "missed\n", 7) < 0 ? 2 : 0;
	}
	std::fputs("usage: shapes_cxx --list | shapes_cxx NAME BYTES\n",
		   stderr);
	return 2;
}
