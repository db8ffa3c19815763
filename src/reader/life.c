/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the process that wrote a file still exists.
 *
 * A pid alone is not enough: pids are reused, and every container has a pid 1.
 * A process is the file's process if boot id, pid in its own namespace and
 * start time are those in the file. It still runs the file's program if its
 * executable is the same, or, if that was moved, if it maps the file. Only
 * procfs is read, and an unreadable process is never taken for dead.
 */
#include "reader/internal.h"

#include "base/text.h"
#include "reader/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The fixed inode of the initial pid namespace. */
#define OUTERMOST_PID_NS 0xeffffffcu

static uint64_t ns_inode(int procfd, const char *name)
{
	struct stat st;

	return fstatat(procfd, name, &st, 0) ? 0 : (uint64_t)st.st_ino;
}

/* The line of @status with the process' pid in each namespace, or NULL. */
static char *nspid_line(char *status)
{
	char *line = strstr(status, "\nNSpid:");
	char *end;

	if (!line)
		return NULL;
	line += strlen("\nNSpid:");
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	return line;
}

static int32_t last_pid(const char *line, unsigned int *depth)
{
	long pid = 0;
	char *end;

	*depth = 0;
	for (;;) {
		long n = strtol(line, &end, 10);

		if (end == line)
			return (int32_t)pid;
		pid = n;
		line = end;
		++*depth;
	}
}

/*
 * The mounted procfs may belong to another pid namespace. Then the reader has
 * several pids in it, and the namespace is that of procfs' pid 1.
 */
static uint64_t procfs_pid_ns(int procfd)
{
	char status[4096];
	unsigned int depth = 0;
	char *line;

	kf_proc_read(procfd, "self/status", status, sizeof(status));
	line = nspid_line(status);
	if (line)
		last_pid(line, &depth);
	return ns_inode(procfd, depth == 1 ? "self/ns/pid" : "1/ns/pid");
}

void kf_life_open(struct kf_life_view *view, const char *procfs)
{
	memset(view, 0, sizeof(*view));
	view->procfd = open(procfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (view->procfd < 0)
		return;
	view->pid_ns = procfs_pid_ns(view->procfd);
	view->sees_all = view->pid_ns == OUTERMOST_PID_NS && geteuid() == 0;
	kf_proc_read(view->procfd, "sys/kernel/random/boot_id", view->boot_id,
		     sizeof(view->boot_id));
	view->boot_id[strcspn(view->boot_id, "\n")] = '\0';
}

void kf_life_close(struct kf_life_view *view)
{
	if (view->procfd >= 0)
		close(view->procfd);
	free(view->procs);
	memset(view, 0, sizeof(*view));
	view->procfd = -1;
}

/* Skips @n fields from a blank; returns the blank there, or NULL. */
static const char *fields_on(const char *blank, unsigned int n)
{
	while (blank && n--)
		blank = strchr(blank + 1, ' ');
	return blank;
}

/*
 * A zombie has ended, but a main thread may end before other threads do. The
 * name in stat is not escaped and may hold any bytes.
 */
uint64_t kf_life_start(struct kf_life_view *view, int32_t pid)
{
	const char *name, *end, *nr_threads, *ticks;
	struct kf_text comm;
	char buf[1024];

	view->comm[0] = '\0';
	if (kf_proc_line(view->procfd, pid, "stat", buf, sizeof(buf)) <= 0)
		return 0;
	name = strchr(buf, '(');
	end = strrchr(buf, ')');
	if (!name || !end || end[1] != ' ')
		return 0;
	nr_threads = fields_on(end + 1, 17);
	ticks = fields_on(nr_threads, 2);
	if (!ticks || end[2] == 'X' ||
	    (end[2] == 'Z' && strtol(nr_threads, NULL, 10) <= 1))
		return 0;
	kf_text_init(&comm, view->comm, sizeof(view->comm));
	kf_text_strn(&comm, name + 1, (size_t)(end - name - 1));
	return strtoull(ticks, NULL, 10);
}

int32_t kf_life_inner_pid(int procfd, int32_t pid)
{
	char name[32], status[4096];
	unsigned int depth;
	char *line;
	int32_t inner;

	snprintf(name, sizeof(name), "%d/status", pid);
	if (kf_proc_read(procfd, name, status, sizeof(status)) <= 0)
		return 0;
	line = nspid_line(status);
	if (!line)
		return 0;
	inner = last_pid(line, &depth);
	return depth > 1 ? inner : 0;
}

static bool add_proc(struct kf_life_view *view, struct kf_proc proc)
{
	struct kf_proc *grown;

	/* the room doubles at each power of two */
	if (!(view->nr_procs & (view->nr_procs - 1))) {
		size_t room = view->nr_procs ? 2 * (size_t)view->nr_procs : 1;

		grown = realloc(view->procs, room * sizeof(*grown));
		if (!grown)
			return false;
		view->procs = grown;
	}
	view->procs[view->nr_procs++] = proc;
	return true;
}

/* Lists all processes of inner namespaces. */
static void list_procs(struct kf_life_view *view)
{
	int fd = openat(view->procfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	view->listed = true;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		view->sees_all = false;
		return;
	}
	while ((de = readdir(dir))) {
		struct kf_proc proc = {0};

		if (!isdigit((unsigned char)de->d_name[0]))
			continue;
		proc.pid = (int32_t)strtol(de->d_name, NULL, 10);
		proc.inner_pid = kf_life_inner_pid(view->procfd, proc.pid);
		if (!proc.inner_pid)
			continue;
		proc.start_ticks = kf_life_start(view, proc.pid);
		if (!add_proc(view, proc)) {
			view->sees_all = false;
			break;
		}
	}
	closedir(dir);
}

static bool same_ns(struct kf_life_view *view, int32_t pid, uint64_t pid_ns)
{
	char name[32];
	uint64_t ns;

	snprintf(name, sizeof(name), "%d/ns/pid", pid);
	ns = ns_inode(view->procfd, name);
	return ns == 0 || ns == pid_ns;
}

/* Our pid of a process in another namespace, or 0. */
static int32_t find_outer(struct kf_life_view *view,
			  const struct kf_stats_identity *id)
{
	if (id->outer_pid > 0 &&
	    kf_life_inner_pid(view->procfd, id->outer_pid) == id->pid &&
	    kf_life_start(view, id->outer_pid) == id->start_ticks &&
	    same_ns(view, id->outer_pid, id->pid_ns))
		return id->outer_pid;
	if (!view->listed && view->brief) {
		view->unsure = true;
		return 0;
	}
	if (!view->listed)
		list_procs(view);
	view->comm[0] = '\0';
	for (unsigned int i = 0; i < view->nr_procs; i++) {
		const struct kf_proc *p = &view->procs[i];

		if (p->inner_pid == id->pid &&
		    p->start_ticks == id->start_ticks &&
		    same_ns(view, p->pid, id->pid_ns))
			return p->pid;
	}
	return 0;
}

/* Whether the process maps the file of inode @ino; true if unreadable. */
static bool maps_file(int procfd, int32_t pid, uint64_t ino)
{
	char name[32], *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "%d/maps", pid);
	fd = openat(procfd, name, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "re");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	while (!found && getline(&line, &size, f) > 0) {
		unsigned long long n;

		if (sscanf(line, "%*s %*s %*s %*s %llu", &n) == 1)
			found = n == ino;
	}
	free(line);
	fclose(f);
	return found;
}

bool kf_life_execed(struct kf_life_view *view, int32_t pid,
		    const struct kf_stats_identity *id, int dirfd,
		    const char *file)
{
	static const char deleted[] = " (deleted)";
	size_t max = sizeof(id->exe) - 1;
	char name[32], exe[4096];
	struct stat st;
	ssize_t n;

	snprintf(name, sizeof(name), "%d/exe", pid);
	n = readlinkat(view->procfd, name, exe, sizeof(exe) - 1);
	if (n <= 0 || !id->exe[0])
		return false;
	exe[n] = '\0';
	if (!strncmp(exe, id->exe, max))
		return false;
	/* replaced by a newer version, as a package manager does */
	if ((size_t)n >= sizeof(deleted) - 1 &&
	    !strcmp(exe + n - (sizeof(deleted) - 1), deleted))
		exe[(size_t)n - (sizeof(deleted) - 1)] = '\0';
	if (!strncmp(exe, id->exe, max))
		return false;
	/* moved, or seen from outside of its root */
	return !fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) &&
	       !maps_file(view->procfd, pid, (uint64_t)st.st_ino);
}

/* The process of a file that was made since boot; 0: not found. */
static int32_t find_pid(struct kf_life_view *view,
			const struct kf_stats_identity *id)
{
	if (id->pid_ns && id->pid_ns != view->pid_ns)
		return find_outer(view, id);
	if (kf_life_start(view, id->pid) != id->start_ticks)
		return 0;
	return id->pid;
}

enum kf_life kf_life_of(struct kf_life_view *view,
			const struct kf_stats_identity *id, int dirfd,
			const char *name, int32_t *pid)
{
	bool inner = id->pid_ns && id->pid_ns != view->pid_ns;
	int32_t found;

	*pid = 0;
	if (view->procfd < 0)
		return KF_LIFE_UNKNOWN;
	if (id->boot_id[0] && view->boot_id[0] &&
	    strcmp(id->boot_id, view->boot_id))
		return KF_LIFE_DEAD;
	if (!id->start_ticks)
		return KF_LIFE_UNKNOWN;
	found = find_pid(view, id);
	if (!found)
		return inner && !view->sees_all ? KF_LIFE_UNKNOWN
						: KF_LIFE_DEAD;
	if (kf_life_execed(view, found, id, dirfd, name))
		return KF_LIFE_EXECED;
	*pid = found;
	return KF_LIFE_ALIVE;
}
