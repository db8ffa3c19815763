/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server of one page: see serve.h. Browsers connect ahead and send nothing,
 * so several connections are open at a time; the oldest one gives way.
 */
#include "config.h"

#include "cli/serve.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define CONNECTIONS 16
#define HEAD_ROOM 8192 /* bytes of a request's head */
#define SEND_S 10

enum { SIGNALS, LISTENER, FIRST };

struct connection {
	size_t len;
	char head[HEAD_ROOM];
};

struct server {
	const char *page;
	size_t size;
	size_t nr; /* open connections, the oldest first */
	struct pollfd fd[FIRST + CONNECTIONS];
	struct connection *connection[CONNECTIONS];
};

bool kf_serve_parse(const char *text, struct sockaddr_in *to)
{
	const char *colon = strrchr(text, ':');
	char *address =
		kf_format("%.*s", colon ? (int)(colon - text) : 0, text);
	const char *given = colon ? address : "localhost";
	uint64_t port;
	bool is;

	*to = (struct sockaddr_in){.sin_family = AF_INET};
	is = kf_parse_u64(colon ? colon + 1 : text, &port) &&
	     port <= UINT16_MAX &&
	     inet_pton(AF_INET,
		       strcmp(given, "localhost") ? given : "127.0.0.1",
		       &to->sin_addr) == 1 &&
	     ntohl(to->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
	if (is)
		to->sin_port = htons((uint16_t)port);
	free(address);
	return is;
}

/* The user of a connection's other end, of /proc/net/tcp; -1: not known. */
static int64_t serve_user(const struct sockaddr_in *us,
			  const struct sockaddr_in *them)
{
	FILE *all = fopen("/proc/net/tcp", "re");
	unsigned int local, local_port, remote, remote_port, uid;
	int64_t user = -1;
	char line[256];

	while (all && user < 0 && fgets(line, sizeof(line), all)) {
		if (sscanf(line, "%*u: %x:%x %x:%x %*x %*x:%*x %*x:%*x %*x %u",
			   &local, &local_port, &remote, &remote_port,
			   &uid) == 5 &&
		    local == them->sin_addr.s_addr &&
		    local_port == ntohs(them->sin_port) &&
		    remote == us->sin_addr.s_addr &&
		    remote_port == ntohs(us->sin_port))
			user = uid;
	}
	if (all)
		fclose(all);
	return user;
}

/* Ourselves; and who ran sudo, whose browser it is then. */
static bool serve_is_ours(int fd)
{
	struct sockaddr_in us, them;
	socklen_t our_len = sizeof(us), their_len = sizeof(them);
	const char *sudo = geteuid() ? NULL : getenv("SUDO_UID");
	uint64_t sudo_uid;
	int64_t user;

	if (getsockname(fd, (struct sockaddr *)&us, &our_len) ||
	    getpeername(fd, (struct sockaddr *)&them, &their_len))
		return false;
	user = serve_user(&us, &them);
	if (user < 0)
		return false;
	return user == geteuid() || (sudo && kf_parse_u64(sudo, &sudo_uid) &&
				     (uint64_t)user == sudo_uid);
}

static bool serve_send(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static void serve_answer(int fd, const char *status, const char *type,
			 const char *body, size_t size)
{
	char *head = kf_format("HTTP/1.1 %s\r\n"
			       "Content-Type: text/%s; charset=utf-8\r\n"
			       "Content-Length: %zu\r\n"
			       "Cache-Control: no-store\r\n"
			       "Cross-Origin-Resource-Policy: same-origin\r\n"
			       "Referrer-Policy: no-referrer\r\n"
			       "X-Content-Type-Options: nosniff\r\n"
			       "X-Frame-Options: DENY\r\n"
			       "Connection: close\r\n\r\n",
			       status, type, size);

	if (serve_send(fd, head, strlen(head)))
		serve_send(fd, body, size);
	free(head);
}

static void serve_refuse(int fd, const char *status, const char *why)
{
	serve_answer(fd, status, "plain", why, strlen(why));
}

/* Whether Host is an address or localhost; a port behind it may be of ssh. */
static bool serve_is_host(const char *head)
{
	const char *host = strcasestr(head, "\r\nHost:");
	struct in_addr address;
	char name[64];

	if (!host)
		return false;
	host += strlen("\r\nHost:");
	host += strspn(host, " \t");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, ": \t\r\n"),
		 host);
	return !strcasecmp(name, "localhost") ||
	       inet_pton(AF_INET, name, &address) == 1;
}

/* The head is whole. */
static void serve_page(const struct server *s, int fd, const char *head)
{
	bool get = !strncmp(head, "GET ", 4);

	if (!get && strncmp(head, "HEAD ", 5) != 0)
		serve_refuse(fd, "405 Method Not Allowed\r\nAllow: GET, HEAD",
			     "only GET and HEAD\n");
	else if (!serve_is_host(head))
		serve_refuse(fd, "421 Misdirected Request",
			     "this host name is not known here\n");
	else if (strncmp(head + (get ? 4 : 5), "/ ", 2) != 0)
		serve_refuse(fd, "404 Not Found", "not found\n");
	else
		serve_answer(fd, "200 OK", "html", s->page, get ? s->size : 0);
}

static void serve_close(struct server *s, size_t i)
{
	size_t after = --s->nr - i;

	close(s->fd[FIRST + i].fd);
	free(s->connection[i]);
	memmove(&s->fd[FIRST + i], &s->fd[FIRST + i + 1],
		after * sizeof(s->fd[0]));
	memmove(&s->connection[i], &s->connection[i + 1],
		after * sizeof(s->connection[0]));
}

static void serve_accept(struct server *s)
{
	const struct timeval slow = {.tv_sec = SEND_S};
	int fd = accept4(s->fd[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slow, sizeof(slow));
	if (!serve_is_ours(fd)) {
		serve_refuse(fd, "403 Forbidden",
			     "this page is for another user\n");
		close(fd);
		return;
	}
	if (s->nr == CONNECTIONS)
		serve_close(s, 0);
	s->connection[s->nr] = kf_alloc(1, sizeof(struct connection));
	s->fd[FIRST + s->nr++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void serve_read(struct server *s, size_t i)
{
	struct connection *c = s->connection[i];
	int fd = s->fd[FIRST + i].fd;
	ssize_t n = recv(fd, c->head + c->len, sizeof(c->head) - 1 - c->len,
			 MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		c->len += (size_t)n;
		c->head[c->len] = '\0';
		if (strstr(c->head, "\r\n\r\n"))
			serve_page(s, fd, c->head);
		else if (c->len < sizeof(c->head) - 1)
			return;
	}
	serve_close(s, i);
}

static int serve_loop(struct server *s)
{
	while (poll(s->fd, FIRST + s->nr, -1) >= 0 || errno == EINTR) {
		if (s->fd[SIGNALS].revents)
			return KF_EXIT_OK;
		for (size_t i = s->nr; i-- > 0;) {
			if (s->fd[FIRST + i].revents)
				serve_read(s, i);
		}
		if (s->fd[LISTENER].revents)
			serve_accept(s);
	}
	kf_error("poll: %s", strerror(errno));
	return KF_EXIT_FAILED;
}

/* A browser is no program for root. */
static void serve_show(const char *url)
{
	char *argv[] = {(char *)"xdg-open", (char *)url, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	if ((!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) || !geteuid())
		return;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null",
						 O_RDWR, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes,
				 POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	signal(SIGCHLD, SIG_IGN);
	posix_spawnp(&pid, argv[0], &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
}

static int serve_listen(const char *command, const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd >= 0 &&
	    !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)to, sizeof(*to)) &&
	    !listen(fd, CONNECTIONS))
		return fd;
	kf_error("%s: --serve: cannot listen on %s:%u: %s", command,
		 inet_ntoa(to->sin_addr), ntohs(to->sin_port), strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int kf_serve(const struct kf_cli *cli, const struct sockaddr_in *to,
	     const char *page, size_t size)
{
	struct server s = {.page = page, .size = size};
	int listener = serve_listen(cli->command->name, to), status;
	struct sockaddr_in at = *to;
	socklen_t len = sizeof(at);
	sigset_t end;
	char *url;

	if (listener < 0)
		return KF_EXIT_FAILED;
	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGHUP);
	sigprocmask(SIG_BLOCK, &end, NULL);
	s.fd[SIGNALS] =
		(struct pollfd){signalfd(-1, &end, SFD_CLOEXEC), POLLIN, 0};
	s.fd[LISTENER] = (struct pollfd){listener, POLLIN, 0};
	getsockname(listener, (struct sockaddr *)&at, &len);
	url = kf_format("http://%s:%u/", inet_ntoa(at.sin_addr),
			ntohs(at.sin_port));
	kf_note(cli, "%s: %s until Ctrl-C", cli->command->name, url);
	serve_show(url);
	status = serve_loop(&s);
	while (s.nr)
		serve_close(&s, s.nr - 1);
	close(listener);
	close(s.fd[SIGNALS].fd);
	free(url);
	return status;
}
