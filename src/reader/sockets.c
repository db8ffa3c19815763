/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory of sockets: see sockets.h. The descriptors tell the inodes of the
 * sockets, the kernel's NETLINK_SOCK_DIAG the memory of each inode.
 */
#include "reader/sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define FDS_MAX (1u << 18) /* a process with more is not looked at */
#define REPLY_MAX 32768	   /* bytes; the kernel sends no more at once */
#define WAIT_SECONDS 5

struct socket_seen {
	uint32_t inode;
	bool counted;
};

struct sockets {
	size_t nr;
	struct socket_seen *seen; /* by inode */
	size_t counted;
	uint64_t bytes;
};

struct request {
	struct nlmsghdr head;
	union {
		struct inet_diag_req_v2 inet;
		struct unix_diag_req un;
	};
};

static const struct {
	uint8_t family;
	uint8_t protocol;
} dumps[] = {
	{AF_INET, IPPROTO_TCP}, {AF_INET6, IPPROTO_TCP},
	{AF_INET, IPPROTO_UDP}, {AF_INET6, IPPROTO_UDP},
	{AF_UNIX, 0},
};

/* Whether the process has the sockets that the kernel lists for us. */
static bool sockets_are_ours(const char *procfs, int pid)
{
	char path[PATH_MAX];
	struct stat own, other;

	snprintf(path, sizeof(path), "%s/self/ns/net", procfs);
	if (stat(path, &own))
		return false;
	snprintf(path, sizeof(path), "%s/%d/ns/net", procfs, pid);
	return !stat(path, &other) && own.st_dev == other.st_dev &&
	       own.st_ino == other.st_ino;
}

static bool sockets_add(struct sockets *all, uint32_t inode)
{
	if (!(all->nr & (all->nr - 1))) {
		size_t room = all->nr ? 2 * all->nr : 1;
		void *more = realloc(all->seen, room * sizeof(*all->seen));

		if (!more)
			return false;
		all->seen = more;
	}
	all->seen[all->nr++] = (struct socket_seen){.inode = inode};
	return true;
}

static int sockets_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct socket_seen *)a)->inode;
	uint32_t y = ((const struct socket_seen *)b)->inode;

	return (x > y) - (x < y);
}

static void sockets_sort(struct sockets *all)
{
	size_t kept = 0;

	if (all->nr)
		qsort(all->seen, all->nr, sizeof(*all->seen), sockets_compare);
	for (size_t i = 0; i < all->nr; i++) {
		if (!kept || all->seen[kept - 1].inode != all->seen[i].inode)
			all->seen[kept++] = all->seen[i];
	}
	all->nr = kept;
}

/* Finds the sockets among the descriptors. */
static bool sockets_list(struct sockets *all, DIR *dir)
{
	const struct dirent *e;
	unsigned int nr = 0;

	for (errno = 0; (e = readdir(dir)); errno = 0) {
		char target[64];
		unsigned int inode;
		ssize_t len = readlinkat(dirfd(dir), e->d_name, target,
					 sizeof(target) - 1);

		if (nr++ == FDS_MAX)
			return false;
		if (len <= 0)
			continue;
		target[len] = '\0';
		if (sscanf(target, "socket:[%u]", &inode) == 1 &&
		    !sockets_add(all, inode))
			return false;
	}
	return !errno;
}

static bool sockets_find(struct sockets *all, const char *procfs, int pid)
{
	char path[PATH_MAX];
	DIR *dir;
	bool done;

	snprintf(path, sizeof(path), "%s/%d/fd", procfs, pid);
	dir = opendir(path);
	if (!dir)
		return false;
	done = sockets_list(all, dir);
	closedir(dir);
	sockets_sort(all);
	return done;
}

/*
 * What is in the queues, with the kernel's own structures. Sent data of TCP is
 * in both counts of the send queue, that of the others in one of them. The
 * forward allocation is a quota without memory behind it.
 */
static uint64_t socket_bytes(const uint32_t *meminfo)
{
	return (uint64_t)meminfo[SK_MEMINFO_RMEM_ALLOC] +
	       KF_MAX(meminfo[SK_MEMINFO_WMEM_ALLOC],
		      meminfo[SK_MEMINFO_WMEM_QUEUED]) +
	       meminfo[SK_MEMINFO_OPTMEM] + meminfo[SK_MEMINFO_BACKLOG];
}

/* Takes the memory of a socket from the attributes behind its message. */
static void sockets_count(struct sockets *all, uint32_t inode, int attribute,
			  const char *at, size_t size)
{
	struct socket_seen key = {.inode = inode};
	struct socket_seen *s = NULL;
	uint32_t meminfo[SK_MEMINFO_BACKLOG + 1];

	if (inode)
		s = bsearch(&key, all->seen, all->nr, sizeof(*all->seen),
			    sockets_compare);
	while (s && !s->counted && size >= sizeof(struct rtattr)) {
		struct rtattr a;
		size_t step;

		memcpy(&a, at, sizeof(a));
		step = RTA_ALIGN(a.rta_len);
		if (a.rta_len < sizeof(a) || a.rta_len > size)
			return;
		if (a.rta_type == attribute &&
		    RTA_PAYLOAD(&a) >= sizeof(meminfo)) {
			memcpy(meminfo, at + RTA_LENGTH(0), sizeof(meminfo));
			all->bytes += socket_bytes(meminfo);
			all->counted++;
			s->counted = true;
		}
		at += KF_MIN(step, size);
		size -= KF_MIN(step, size);
	}
}

static void sockets_take(struct sockets *all, uint8_t family, const char *body,
			 size_t size)
{
	struct inet_diag_msg inet;
	struct unix_diag_msg un;

	if (family == AF_UNIX && size >= NLMSG_ALIGN(sizeof(un))) {
		memcpy(&un, body, sizeof(un));
		sockets_count(all, un.udiag_ino, UNIX_DIAG_MEMINFO,
			      body + NLMSG_ALIGN(sizeof(un)),
			      size - NLMSG_ALIGN(sizeof(un)));
	} else if (family != AF_UNIX && size >= NLMSG_ALIGN(sizeof(inet))) {
		memcpy(&inet, body, sizeof(inet));
		sockets_count(all, inet.idiag_inode, INET_DIAG_SKMEMINFO,
			      body + NLMSG_ALIGN(sizeof(inet)),
			      size - NLMSG_ALIGN(sizeof(inet)));
	}
}

static bool dump_ask(int fd, uint8_t family, uint8_t protocol)
{
	static const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct request r = {
		.head.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	};
	size_t body;

	if (family == AF_UNIX) {
		body = sizeof(r.un);
		r.un.sdiag_family = family;
		r.un.udiag_states = UINT32_MAX;
		r.un.udiag_show = UDIAG_SHOW_MEMINFO;
	} else {
		body = sizeof(r.inet);
		r.inet.sdiag_family = family;
		r.inet.sdiag_protocol = protocol;
		r.inet.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
		r.inet.idiag_states = UINT32_MAX;
	}
	r.head.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
	return sendto(fd, &r, r.head.nlmsg_len, 0, (const void *)&kernel,
		      sizeof(kernel)) == (ssize_t)r.head.nlmsg_len;
}

enum dump { DUMP_GOES_ON, DUMP_ENDS, DUMP_FAILS };

static enum dump dump_take(struct sockets *all, uint8_t family,
			   const char *reply, size_t size)
{
	while (size >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr head;
		size_t step;

		memcpy(&head, reply, sizeof(head));
		if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > size)
			return DUMP_FAILS;
		if (head.nlmsg_type == NLMSG_DONE)
			return DUMP_ENDS;
		if (head.nlmsg_type == NLMSG_ERROR)
			return DUMP_FAILS;
		sockets_take(all, family, reply + NLMSG_HDRLEN,
			     head.nlmsg_len - NLMSG_HDRLEN);
		step = KF_MIN((size_t)NLMSG_ALIGN(head.nlmsg_len), size);
		reply += step;
		size -= step;
	}
	return DUMP_GOES_ON;
}

/* A kernel without the module for a kind of sockets lists none of them. */
static bool sockets_dump(struct sockets *all, int fd, uint8_t family,
			 uint8_t protocol)
{
	static char reply[REPLY_MAX];
	enum dump state = DUMP_GOES_ON;

	if (!dump_ask(fd, family, protocol))
		return false;
	while (state == DUMP_GOES_ON) {
		struct sockaddr_nl from = {0};
		socklen_t len = sizeof(from);
		ssize_t got = recvfrom(fd, reply, sizeof(reply), MSG_TRUNC,
				       (void *)&from, &len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || (size_t)got > sizeof(reply))
			return false;
		if (!from.nl_pid)
			state = dump_take(all, family, reply, (size_t)got);
	}
	return state == DUMP_ENDS;
}

/* Returns whether all sockets were listed that may have memory. */
static bool sockets_measure(struct sockets *all)
{
	const struct timeval wait = {.tv_sec = WAIT_SECONDS};
	bool whole = true;

	for (size_t i = 0; i < KF_ARRAY_SIZE(dumps); i++) {
		/* a new one each time: a failed dump may have left answers */
		int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
				NETLINK_SOCK_DIAG);

		if (fd < 0)
			return false;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
		whole &= sockets_dump(all, fd, dumps[i].family,
				      dumps[i].protocol);
		close(fd);
		if (all->counted == all->nr)
			return true;
	}
	return whole;
}

bool kf_sockets_read(const char *procfs, int pid, uint64_t *bytes)
{
	struct sockets all = {0};
	bool known = pid && sockets_are_ours(procfs, pid) &&
		     sockets_find(&all, procfs, pid) &&
		     (!all.nr || sockets_measure(&all));

	free(all.seen);
	*bytes = known ? all.bytes : 0;
	return known;
}
