/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Listening sockets. ":PORT" is one socket for both families if the kernel has
 * IPv6, otherwise for IPv4. "unix:PATH" is a Unix socket, which anybody may use
 * who may write to it: umask and directory decide.
 */
#include "config.h"

#include "exporter/http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_bind_one(const struct addrinfo *ai)
{
	int fd, on = 1, off = 0, error;

	fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, 128) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Split HOST:PORT; remove brackets around an IPv6 host. */
static bool listen_split(const char *address, char *host, size_t size,
			 const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t len;

	if (!colon || !colon[1])
		return false;
	len = (size_t)(colon - address);
	*port = colon + 1;
	if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
		address++;
		len -= 2;
	}
	if (len >= size)
		return false;
	memcpy(host, address, len);
	host[len] = '\0';
	return true;
}

void kf_listen_name(int fd, char *name, size_t size)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	char host[64], port[16];

	name[0] = '\0';
	if (getsockname(fd, (struct sockaddr *)&ss, &len) != 0)
		return;
	if (ss.ss_family == AF_UNIX) {
		snprintf(name, size, "unix:%.*s",
			 (int)(sizeof(struct sockaddr_un) -
			       offsetof(struct sockaddr_un, sun_path)),
			 ((struct sockaddr_un *)&ss)->sun_path);
		return;
	}
	if (getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(name, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
		 port);
}

bool kf_listen_is_local(int fd)
{
	struct sockaddr_storage ss = {0};
	const struct sockaddr_in6 *six = (const void *)&ss;
	const struct sockaddr_in *four = (const void *)&ss;
	const unsigned char *first = (const void *)&four->sin_addr;
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) != 0)
		return false;
	if (ss.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	if (ss.ss_family == AF_INET6)
		first = six->sin6_addr.s6_addr + 12;
	return ss.ss_family == AF_UNIX || *first == IN_LOOPBACKNET;
}

static const char *listen_reason(int rc)
{
	if (rc == EAI_SERVICE)
		return "unknown port name";
	return rc ? gai_strerror(rc) : strerror(errno);
}

/* A socket without a listener is left over from an earlier exporter. */
static bool listen_is_left(int fd, const struct sockaddr_un *un)
{
	struct stat st;

	return errno == EADDRINUSE && lstat(un->sun_path, &st) == 0 &&
	       S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)un, sizeof(*un)) != 0 &&
	       errno == ECONNREFUSED && unlink(un->sun_path) == 0;
}

static int listen_unix(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = ENAMETOOLONG;

	if (fd < 0)
		return -1;
	if (snprintf(un.sun_path, sizeof(un.sun_path), "%s", path) <
	    (int)sizeof(un.sun_path)) {
		bool bound = bind(fd, (struct sockaddr *)&un, sizeof(un)) == 0;

		if (!bound && listen_is_left(fd, &un))
			bound = bind(fd, (struct sockaddr *)&un, sizeof(un)) ==
				0;
		if (bound && listen(fd, 128) == 0)
			return fd;
		error = errno;
	}
	close(fd);
	errno = error;
	return -1;
}

static int listen_fail(const char *address, const char *reason)
{
	fprintf(stderr, "konfiscator_exporter: cannot listen on %s: %s\n",
		address, reason);
	return -1;
}

int kf_listen(const char *address, char *name, size_t size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE};
	struct addrinfo *list, *ai;
	const char *port;
	char host[256];
	int fd = -1, rc;

	if (strncmp(address, KF_LISTEN_UNIX, strlen(KF_LISTEN_UNIX)) == 0) {
		fd = listen_unix(address + strlen(KF_LISTEN_UNIX));
		if (fd < 0)
			return listen_fail(address, strerror(errno));
		kf_listen_name(fd, name, size);
		return fd;
	}
	if (!listen_split(address, host, sizeof(host), &port))
		return listen_fail(address, "not [HOST]:PORT or unix:PATH");
	if (!*host)
		hints.ai_family = AF_INET6;
	rc = getaddrinfo(*host ? host : NULL, port, &hints, &list);
	for (ai = rc == 0 ? list : NULL; ai && fd < 0; ai = ai->ai_next)
		fd = listen_bind_one(ai);
	if (rc == 0)
		freeaddrinfo(list);
	if (fd < 0 && !*host && (rc != 0 || errno == EAFNOSUPPORT)) {
		hints.ai_family = AF_INET;
		rc = getaddrinfo(NULL, port, &hints, &list);
		fd = rc == 0 ? listen_bind_one(list) : -1;
		if (rc == 0)
			freeaddrinfo(list);
	}
	if (fd < 0)
		return listen_fail(address, listen_reason(rc));
	kf_listen_name(fd, name, size);
	return fd;
}
