/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "exporter/http/activation.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_FD 3

/* Read a positive number from the environment; 0 if there is none. */
static long activation_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n = text ? strtol(text, &end, 10) : 0;

	return n > 0 && end != text && !*end ? n : 0;
}

static bool activation_option_is(int fd, int option, int wanted)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 &&
	       value == wanted;
}

static bool activation_listens(int fd)
{
	return activation_option_is(fd, SO_TYPE, SOCK_STREAM) &&
	       activation_option_is(fd, SO_ACCEPTCONN, 1);
}

int kf_activation_sockets(int *fds, unsigned int max)
{
	/* the sockets are meant for another process */
	long nr = activation_number("LISTEN_PID") == getpid()
			  ? activation_number("LISTEN_FDS")
			  : 0;
	long i;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (nr > (long)max) {
		fprintf(stderr,
			"konfiscator_exporter: LISTEN_FDS: %ld sockets were passed, at most %u can be served\n",
			nr, max);
		return -1;
	}
	for (i = 0; i < nr; i++) {
		fds[i] = FIRST_FD + (int)i;
		if (!activation_listens(fds[i]) ||
		    fcntl(fds[i], F_SETFD, FD_CLOEXEC) != 0) {
			fprintf(stderr,
				"konfiscator_exporter: LISTEN_FDS: descriptor %d is not a listening stream socket\n",
				fds[i]);
			return -1;
		}
	}
	return (int)nr;
}
