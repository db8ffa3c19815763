/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The dynamic linker: malloc before any constructor, in constructors and IFUNC
 * resolvers, in dlopen and dlsym, TLS of loaded libraries, other namespaces.
 */
#include "case.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>

CASE(malloc_works_before_any_constructor)
{
	CHECK_EQ(kf_spawn("start_malloc", "preinit"), 0);
}

CASE(malloc_works_in_constructors)
{
	CHECK_EQ(kf_spawn("start_malloc", "constructor"), 0);
}

CASE(malloc_works_in_ifunc_resolvers)
{
	CHECK_EQ(kf_spawn("start_ifunc", NULL), 0);
}

static void *open_path(const char *path, int flags)
{
	void *plugin = dlopen(path, flags);

	if (!plugin)
		kf_case_fail(__FILE__, __LINE__, dlerror());
	return plugin;
}

static void *open_plugin(int flags)
{
	return open_path(kf_beside(".libs/plugin.so"), flags);
}

static void use_plugin(void *plugin)
{
	char *(*make)(size_t) = dlsym(plugin, "plugin_make");
	void (*drop)(char *) = dlsym(plugin, "plugin_drop");
	char *p;

	CHECK(make && drop);
	for (size_t n = 1; n < KF_MIB_BYTES; n = n * 4 + 1) {
		p = make(n);
		CHECK(p && kf_all(p, n, 'p'));
		drop(p);
	}
}

CASE(a_loaded_library_uses_the_same_heap)
{
	void *plugin = open_plugin(RTLD_NOW | RTLD_LOCAL);
	char *(*make)(size_t) = dlsym(plugin, "plugin_make");
	void (*drop)(char *) = dlsym(plugin, "plugin_drop");
	int (*made)(void) = dlsym(plugin, "plugin_constructed");

	CHECK(make && drop && made);
	CHECK_EQ(made(), 1);
	free(make(1000));
	drop(memset(malloc(1000), 'p', 1000));
	use_plugin(plugin);
	CHECK_EQ(dlclose(plugin), 0);
}

CASE(libraries_may_be_loaded_and_unloaded_many_times)
{
	for (int i = 0; i < 200; i++) {
		void *plugin = open_plugin(i % 2 ? RTLD_NOW : RTLD_LAZY);

		use_plugin(plugin);
		CHECK_EQ(dlclose(plugin), 0);
	}
}

static void *load_and_unload(void *arg)
{
	for (int i = 0; i < 50; i++) {
		void *plugin = open_path(arg, RTLD_NOW);

		use_plugin(plugin);
		CHECK(!dlsym(RTLD_DEFAULT, "no_such_symbol"));
		CHECK(dlerror());
		CHECK_EQ(dlclose(plugin), 0);
	}
	return arg;
}

CASE(threads_load_and_unload_at_once)
{
	const char *path = kf_beside(".libs/plugin.so");
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, load_and_unload,
					(void *)path),
			 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

static void *touch_tls(void *arg)
{
	char *(*tls)(void) = dlsym(arg, "plugin_tls");
	char *p;

	CHECK(tls);
	p = tls();
	CHECK(kf_all(p, 20000, 0));
	memset(p, 1, 20000);
	free(malloc(100));
	CHECK(kf_all(p, 20000, 1));
	return arg;
}

CASE(tls_of_a_loaded_library_is_allocated_for_each_thread)
{
	void *plugin = open_plugin(RTLD_NOW);

	for (int i = 0; i < 50; i++)
		kf_in_thread(touch_tls, plugin);
	touch_tls(plugin);
	CHECK_EQ(dlclose(plugin), 0);
}

static void copy_file(const char *from, const char *to)
{
	static char data[1 << 20];
	ssize_t len = kf_read_file(from, data, sizeof(data));
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	CHECK(len > 0 && fd >= 0);
	CHECK_EQ(write(fd, data, (size_t)len), len);
	close(fd);
}

#define NR_COPIES 24

/* Many modules with TLS make the linker grow the thread's vector of them. */
CASE(many_libraries_with_tls_can_be_loaded)
{
	char dir[] = "/tmp/conformance.XXXXXX", path[64];
	void *plugin[NR_COPIES];

	CHECK(mkdtemp(dir));
	for (int i = 0; i < NR_COPIES; i++) {
		snprintf(path, sizeof(path), "%s/%d.so", dir, i);
		copy_file(kf_beside(".libs/plugin.so"), path);
		plugin[i] = dlopen(path, RTLD_NOW);
		unlink(path);
		if (!plugin[i])
			rmdir(dir);
		CHECK(plugin[i]);
	}
	rmdir(dir);
	for (int i = 0; i < NR_COPIES; i++) {
		touch_tls(plugin[i]);
		kf_in_thread(touch_tls, plugin[i]);
		use_plugin(plugin[i]);
	}
	for (int i = 0; i < NR_COPIES; i++)
		CHECK_EQ(dlclose(plugin[i]), 0);
}

/* Such a library would bind to the C library first. */
CASE(a_library_loaded_with_deepbind_uses_the_same_heap)
{
	void *plugin = open_plugin(RTLD_NOW | RTLD_DEEPBIND);
	char *(*make)(size_t) = dlsym(plugin, "plugin_make");
	void (*drop)(char *) = dlsym(plugin, "plugin_drop");

	CHECK(make && drop);
	free(make(1000));
	drop(memset(malloc(1000), 'p', 1000));
	use_plugin(plugin);
	touch_tls(plugin);
	CHECK_EQ(dlclose(plugin), 0);
	free(malloc(1000));
}

CASE(a_library_in_another_namespace_works)
{
	void *plugin =
		dlmopen(LM_ID_NEWLM, kf_beside(".libs/plugin.so"), RTLD_NOW);

	if (!plugin)
		kf_case_fail(__FILE__, __LINE__, dlerror());
	use_plugin(plugin);
	touch_tls(plugin);
	free(malloc(1000));
	CHECK_EQ(dlclose(plugin), 0);
}

CASE(dlsym_of_the_family_works_from_either_end)
{
	void *(*next_malloc)(size_t) = dlsym(RTLD_NEXT, "malloc");
	void *(*first_malloc)(size_t) = dlsym(RTLD_DEFAULT, "malloc");

	CHECK(next_malloc && first_malloc);
	free(first_malloc(100));
	CHECK(!dlsym(RTLD_NEXT, "no_such_symbol"));
	CHECK(dlerror());
}

/* A C++ library inside a C program: its new has to throw all the same. */
CASE(new_of_a_loaded_cxx_library_throws_bad_alloc)
{
	void *plugin =
		dlopen(kf_beside(".libs/plugin_cxx.so"), RTLD_NOW | RTLD_LOCAL);
	int (*throws)(size_t);
	int (*handled)(void);

	if (!plugin)
		kf_case_skip("plugin_cxx.so was not built or cannot be loaded");
	throws = dlsym(plugin, "plugin_new_throws");
	handled = dlsym(plugin, "plugin_new_handler_runs");
	CHECK(throws && handled);
	CHECK_EQ(throws(100), 0);
	CHECK_EQ(throws((size_t)PTRDIFF_MAX + 1), 1);
	CHECK_EQ(throws(SIZE_MAX), 1);
	CHECK_EQ(throws(1ul << 48), 1);
	CHECK_EQ(handled(), 3);
}
