/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the cases share. Nothing here allocates, so that what a case sees is
 * its own doing.
 */
#include "case.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void say(const char *text, int len)
{
	ssize_t done = write(STDERR_FILENO, text, (size_t)len);

	(void)done;
}

void kf_case_fail(const char *file, int line, const char *what)
{
	const char *base = strrchr(file, '/');
	char text[512];
	int len = snprintf(text, sizeof(text), "# %s:%d: %s (errno %d)\n",
			   base ? base + 1 : file, line, what, errno);

	say(text, len < (int)sizeof(text) ? len : (int)sizeof(text) - 1);
	_exit(1);
}

void kf_case_equal(const char *file, int line, const char *what, uintmax_t got,
		   uintmax_t want)
{
	char text[256];

	if (got == want)
		return;
	snprintf(text, sizeof(text), "%s: got %#jx, want %#jx", what, got,
		 want);
	kf_case_fail(file, line, text);
}

void kf_case_skip(const char *why)
{
	char text[256];
	int len = snprintf(text, sizeof(text), "# SKIP: %s\n", why);

	say(text, len < (int)sizeof(text) ? len : (int)sizeof(text) - 1);
	_exit(77);
}

size_t kf_size(size_t n)
{
	volatile size_t hidden = n;

	return hidden;
}

void *kf_ptr(const void *p)
{
	const void *volatile hidden = p;

	return (void *)hidden;
}

void kf_fill(void *p, size_t n, unsigned int seed)
{
	unsigned char *bytes = p;

	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(seed + i + (i >> 8) + 1);
}

bool kf_filled(const void *p, size_t n, unsigned int seed)
{
	const unsigned char *bytes = p;

	for (size_t i = 0; i < n; i++)
		if (bytes[i] != (unsigned char)(seed + i + (i >> 8) + 1))
			return false;
	return true;
}

bool kf_all(const void *p, size_t n, unsigned char byte)
{
	const unsigned char *bytes = p;

	for (size_t i = 0; i < n; i++)
		if (bytes[i] != byte)
			return false;
	return true;
}

void *kf_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (!symbol)
		kf_case_fail(__FILE__, __LINE__, name);
	return symbol;
}

const char *kf_beside(const char *name)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	CHECK(len > 0);
	path[len] = '\0';
	slash = strrchr(path, '/');
	CHECK(slash &&
	      strlen(name) + 1 < sizeof(path) - (size_t)(slash - path));
	memcpy(slash + 1, name, strlen(name) + 1);
	return path;
}

ssize_t kf_read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t got = -1;

	if (fd < 0)
		return -1;
	while (have < size - 1 &&
	       (got = read(fd, buf + have, size - 1 - have)) > 0)
		have += (size_t)got;
	close(fd);
	buf[have] = '\0';
	return got < 0 ? -1 : (ssize_t)have;
}

size_t kf_resident(void)
{
	char text[4096];
	const char *line;
	unsigned long kib;

	/* Not statm, which has pages: an emulator's are others. */
	CHECK(kf_read_file("/proc/self/status", text, sizeof(text)) > 0);
	line = strstr(text, "\nVmRSS:");
	CHECK(line);
	CHECK_EQ(sscanf(line, "\nVmRSS: %lu kB", &kib), 1);
	return kib * 1024;
}

void kf_reap(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int kf_spawn(const char *name, const char *arg)
{
	char path[PATH_MAX];
	char *argv[] = {path, (char *)arg, NULL};
	pid_t pid;
	int status;

	snprintf(path, sizeof(path), "%s", kf_beside(name));
	CHECK_EQ(posix_spawn(&pid, path, NULL, NULL, argv, environ), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

void kf_in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}
