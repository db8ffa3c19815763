/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Headers of requests: see screen.h.
 */
#include "config.h"

#include "exporter/http/screen.h"
#include "exporter/http/peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME_SIZE 256 /* of a host's */

/* Counts of headers that may occur once. */
struct head {
	unsigned int hosts;
	unsigned int lengths;
	unsigned int codings;
	bool chunked;
	const char *host;
};

static enum MHD_Result screen_count(void *cls, enum MHD_ValueKind kind,
				    const char *key, const char *value)
{
	struct head *head = cls;

	if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		head->lengths++;
	} else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		head->codings++;
		head->chunked = value && strcasecmp(value, "chunked") == 0;
	} else if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
		head->hosts++;
		head->host = value;
	}
	return MHD_YES;
}

static bool screen_is_ambiguous(const struct head *head)
{
	return head->hosts > 1 || head->lengths + head->codings > 1 ||
	       (head->codings && !head->chunked);
}

/* The machine's own names, looked up at first use. */
static struct {
	pthread_once_t once;
	char name[NAME_SIZE];
	char whole[NAME_SIZE]; /* with its domain */
} machine = {.once = PTHREAD_ONCE_INIT};

static void screen_learn_names(void)
{
	struct addrinfo hints = {.ai_flags = AI_CANONNAME}, *list;

	if (gethostname(machine.name, sizeof(machine.name) - 1) != 0)
		return;
	if (getaddrinfo(machine.name, NULL, &hints, &list) != 0)
		return;
	if (list->ai_canonname)
		snprintf(machine.whole, sizeof(machine.whole), "%s",
			 list->ai_canonname);
	freeaddrinfo(list);
}

static bool screen_ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && strcasecmp(name + len - n, end) == 0;
}

/* Remove port, brackets and a trailing dot from a name. */
static bool screen_take_name(const char *host, char name[NAME_SIZE])
{
	bool bracket = host[0] == '[';
	size_t len = strcspn(host + bracket, bracket ? "]" : ":");
	const char *end = host + bracket + len;

	if (bracket && *end++ != ']')
		return false;
	/* a configured port may be a service name */
	if (*end && *end != ':')
		return false;
	if (len && host[bracket + len - 1] == '.')
		len--;
	if (len >= NAME_SIZE)
		return false;
	memcpy(name, host + bracket, len);
	name[len] = '\0';
	return true;
}

static bool screen_is_address(const char *name)
{
	unsigned char address[16];

	return inet_pton(AF_INET, name, address) == 1 ||
	       inet_pton(AF_INET6, name, address) == 1;
}

/* Names that nobody can register in the public DNS. */
static bool screen_is_private(const char *name)
{
	static const char *const ends[] = {".localhost", ".internal",
					   ".home.arpa", ".svc",
					   ".cluster.local"};
	size_t i;

	if (!strchr(name, '.'))
		return true;
	for (i = 0; i < KF_ARRAY_SIZE(ends); i++) {
		if (screen_ends_with(name, ends[i]))
			return true;
	}
	return false;
}

static bool screen_is_allowed(const struct kf_options *o, const char *name)
{
	char listens[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < o->nr_hosts; i++) {
		const char *host = o->host[i];

		if (strcmp(host, "*") == 0 || strcasecmp(host, name) == 0 ||
		    (host[0] == '*' && screen_ends_with(name, host + 1)))
			return true;
	}
	for (i = 0; i < o->nr_listen; i++) {
		if (screen_take_name(o->listen[i], listens) &&
		    strcasecmp(listens, name) == 0)
			return true;
	}
	return false;
}

static bool screen_is_ours(const struct kf_options *o, const char *host)
{
	char name[NAME_SIZE];

	if (!screen_take_name(host, name))
		return false;
	if (screen_is_address(name) || screen_is_private(name) ||
	    screen_is_allowed(o, name))
		return true;
	pthread_once(&machine.once, screen_learn_names);
	return strcasecmp(name, machine.name) == 0 ||
	       strcasecmp(name, machine.whole) == 0;
}

/*
 * Headers that browsers send and scrapers do not. A page can suppress or change
 * some of them, but not Accept-Language.
 */
static bool screen_is_browsers(struct MHD_Connection *c)
{
	static const char *const marks[] = {
		"Accept-Language", "Cookie",	     "Origin",	      "Referer",
		"Sec-Fetch-Dest",  "Sec-Fetch-Mode", "Sec-Fetch-Site"};
	const char *agent;
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(marks); i++) {
		if (MHD_lookup_connection_value(c, MHD_HEADER_KIND, marks[i]))
			return true;
	}
	agent = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "User-Agent");
	return agent && strncmp(agent, "Mozilla/", 8) == 0;
}

enum way { BY_NETWORK, BY_LOOPBACK, BY_UNIX_SOCKET };

/* Whether the client connected to a loopback address. */
static enum way screen_way_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	struct kf_peer peer;

	if (!info ||
	    getsockname(info->connect_fd, (struct sockaddr *)&ss, &len) != 0)
		return BY_LOOPBACK;
	if (ss.ss_family == AF_UNIX)
		return BY_UNIX_SOCKET;
	kf_peer_of((struct sockaddr *)&ss, &peer);
	return kf_peer_is_local(&peer) ? BY_LOOPBACK : BY_NETWORK;
}

const char *kf_screen(const struct kf_options *o, struct MHD_Connection *c,
		      enum kf_code *code)
{
	struct head head = {0};
	enum way way = screen_way_of(c);

	MHD_get_connection_values(c, MHD_HEADER_KIND, screen_count, &head);
	if (screen_is_ambiguous(&head)) {
		*code = KF_CODE_400;
		return "repeated, conflicting or unsupported Host, Content-Length or Transfer-Encoding\n";
	}
	/* browsers do not use Unix sockets; proxies do */
	if (way == BY_UNIX_SOCKET || !head.host ||
	    screen_is_ours(o, head.host) ||
	    (way == BY_NETWORK && !screen_is_browsers(c)))
		return NULL;
	*code = KF_CODE_421;
	return "host name not allowed: see --web.allowed-hosts\n";
}
