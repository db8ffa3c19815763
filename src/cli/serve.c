/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server of one page, by libmicrohttpd: see serve.h.
 */
#include "config.h"

#include "cli/serve.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 16
#define TIMEOUT_S 10

struct server {
	struct sockaddr_in at;
	struct MHD_Response *page;
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

/*
 * Is an MHD_AcceptPolicyCallback. The client is ourselves, or who ran sudo,
 * whose browser it is then.
 */
static enum MHD_Result serve_is_ours(void *cls, const struct sockaddr *them,
				     socklen_t len)
{
	const struct server *s = cls;
	const char *sudo = geteuid() ? NULL : getenv("SUDO_UID");
	struct sockaddr_in from;
	uint64_t sudo_uid;
	int64_t user;

	if (len < sizeof(from) || them->sa_family != AF_INET)
		return MHD_NO;
	memcpy(&from, them, sizeof(from));
	user = serve_user(&s->at, &from);
	return user == geteuid() || (user >= 0 && sudo &&
				     kf_parse_u64(sudo, &sudo_uid) &&
				     (uint64_t)user == sudo_uid)
		       ? MHD_YES
		       : MHD_NO;
}

static struct MHD_Response *serve_make(const char *text, size_t size,
				       const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		size, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (!r)
		return NULL;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy",
				"same-origin");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "X-Frame-Options", "DENY");
	return r;
}

static enum MHD_Result serve_refuse(struct MHD_Connection *c,
				    unsigned int status, const char *why)
{
	struct MHD_Response *r = serve_make(why, strlen(why), "text/plain");
	enum MHD_Result queued = MHD_NO;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	queued = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return queued;
}

/* Whether Host is an address or localhost; a port behind it may be of ssh. */
static bool serve_is_host(const char *host)
{
	struct in6_addr address;
	char name[64];
	size_t len;

	if (!host)
		return false;
	if (*host == '[') {
		len = strcspn(++host, "]");
		snprintf(name, sizeof(name), "%.*s", (int)len, host);
		return host[len] && (!host[len + 1] || host[len + 1] == ':') &&
		       inet_pton(AF_INET6, name, &address) == 1;
	}
	len = strcspn(host, ":");
	snprintf(name, sizeof(name), "%.*s", (int)len, host);
	return !strcasecmp(name, "localhost") ||
	       inet_pton(AF_INET, name, &address) == 1;
}

/* Is an MHD_AccessHandlerCallback. */
static enum MHD_Result serve_answer(void *cls, struct MHD_Connection *c,
				    const char *path, const char *method,
				    const char *version, const char *upload,
				    size_t *upload_size, void **own)
{
	const struct server *s = cls;

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return serve_refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED,
				    "only GET and HEAD\n");
	if (!serve_is_host(
		    MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
		return serve_refuse(c, MHD_HTTP_MISDIRECTED_REQUEST,
				    "this host name is not known here\n");
	if (strcmp(path, "/") != 0)
		return serve_refuse(c, MHD_HTTP_NOT_FOUND, "not found\n");
	return MHD_queue_response(c, MHD_HTTP_OK, s->page);
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

/* The daemon closes the socket. */
static int serve_listen(const char *command, struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	socklen_t len = sizeof(*at);

	if (fd >= 0 &&
	    !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)at, sizeof(*at)) &&
	    !listen(fd, CONNECTIONS) &&
	    !getsockname(fd, (struct sockaddr *)at, &len))
		return fd;
	kf_error("%s: --serve: cannot listen on %s:%u: %s", command,
		 inet_ntoa(at->sin_addr), ntohs(at->sin_port), strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static struct MHD_Daemon *serve_start(struct server *s, int listener)
{
	return MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0,
		serve_is_ours, s, serve_answer, s, MHD_OPTION_LISTEN_SOCKET,
		listener, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)TIMEOUT_S, MHD_OPTION_END);
}

/* What ends the server. nohup and shells have their children ignore some. */
static void serve_signals(sigset_t *end)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction was;

	sigemptyset(end);
	for (size_t i = 0; i < KF_ARRAY_SIZE(ending); i++) {
		if (!sigaction(ending[i], NULL, &was) &&
		    was.sa_handler != SIG_IGN)
			sigaddset(end, ending[i]);
	}
	sigprocmask(SIG_BLOCK, end, NULL);
}

int kf_serve(const struct kf_cli *cli, const struct sockaddr_in *to,
	     const char *page, size_t size)
{
	const char *command = cli->command->name;
	struct server s = {.at = *to};
	int listener = serve_listen(command, &s.at), ended;
	struct MHD_Daemon *daemon;
	sigset_t end;
	char *url;

	if (listener < 0)
		return KF_EXIT_FAILED;
	serve_signals(&end);
	s.page = serve_make(page, size, "text/html; charset=utf-8");
	daemon = s.page ? serve_start(&s, listener) : NULL;
	if (!daemon) {
		kf_error("%s: --serve: libmicrohttpd does not start", command);
		close(listener);
		return KF_EXIT_FAILED;
	}
	url = kf_format("http://%s:%u/", inet_ntoa(s.at.sin_addr),
			ntohs(s.at.sin_port));
	kf_note(cli, "%s: %s until Ctrl-C", command, url);
	serve_show(url);
	sigwait(&end, &ended);
	MHD_stop_daemon(daemon);
	MHD_destroy_response(s.page);
	free(url);
	return KF_EXIT_OK;
}
