/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshots of the tags: see snapshot.h.
 */
#include "core/snapshot.h"

#include "core/conf.h"
#include "core/core.h"
#include "record/record.h"
#include "sys/file.h"
#include "sys/out.h"
#include "sys/process.h"
#include "sys/vm.h"
#include "tags/format.h"
#include "tags/tags.h"

#include "probes/konfiscator-probes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BUFFER 4096

/* The search for an unused number ends here. */
#define LAST_NUMBER 9999

extern int __sigaction(int sig, const struct sigaction *act,
		       struct sigaction *old);

uint32_t kf_snapshot_interval_ms;
uint32_t kf_snapshot_last_ms;

/* Set at start, absolute; "" where not asked for. */
static char json_path[PATH_MAX], dot_path[PATH_MAX], prefix_path[PATH_MAX];

static uint32_t next_number; /* atomic */
static bool is_child;

/*
 * The snapshot that is being written. The thread that set @busy in
 * snapshot_claim() owns all of this. If @path was derived from the name that
 * the user gave, anything there but a regular file is left alone.
 */
static struct {
	bool busy;    /* atomic */
	bool derived; /* @path is not the name that was given */
	char path[PATH_MAX];
	char beside[PATH_MAX];
	const char *name; /* within @path: its last part */
	char bytes[BUFFER];
	size_t len;
	int dir; /* of @name and @beside */
	int fd;
	int error;
	struct kf_stats_identity id;
} writer;

static bool snapshot_claim(void)
{
	return !__atomic_exchange_n(&writer.busy, true, __ATOMIC_ACQUIRE);
}

static void snapshot_unclaim(void)
{
	__atomic_store_n(&writer.busy, false, __ATOMIC_RELEASE);
}

static bool snapshot_flush(void)
{
	if (!writer.error && writer.len)
		writer.error =
			kf_file_append(writer.fd, writer.bytes, writer.len);
	writer.len = 0;
	return !writer.error;
}

static bool snapshot_put(void *arg, const char *bytes, size_t len)
{
	while (len) {
		size_t n = KF_MIN(len, BUFFER - writer.len);

		memcpy(writer.bytes + writer.len, bytes, n);
		writer.len += n;
		bytes += n;
		len -= n;
		if (writer.len == BUFFER && !snapshot_flush())
			return false;
	}
	return true;
}

static void fill_view(struct kf_tags_view *v)
{
	struct kf_stats_conf conf;
	uint32_t nr;

	kf_start_stats_conf(&conf);
	kf_identity_fill(&writer.id, &conf, is_child);
	*v = (struct kf_tags_view){
		.id = &writer.id,
		.tag = kf_stats_area(KF_AREA_TAGS, &nr),
		.started_ns =
			__atomic_load_n(&kf_tags.began_ns, __ATOMIC_RELAXED),
		.now_ns = kf_process_clock_ns(CLOCK_REALTIME),
		.max_nodes = kf_tags.limits.nodes,
		.max_levels = kf_tags.limits.levels,
	};
	v->nr = KF_MIN(nr, __atomic_load_n(&kf_tags.nr, __ATOMIC_ACQUIRE));
	if (!v->started_ns)
		v->started_ns = v->now_ns;
	v->self_usage = (uint64_t)v->nr * (sizeof(struct kf_stats_tag) +
					   sizeof(struct kf_tag_node));
	kf_process_memory(&v->vm_size, &v->vm_rss);
}

static int write_view(enum kf_snapshot_format format)
{
	const struct kf_tags_sink sink = {.write = snapshot_put};
	struct kf_tags_view v;
	uint64_t blocks, live, tagged;
	size_t size;

	fill_view(&v);
	size = KF_ALIGN_UP((v.nr + 1) * sizeof(*v.node), KF_PAGE);
	v.node = kf_vm_map(size, KF_PAGE);
	if (!v.node)
		return -ENOMEM;
	kf_tags_prepare(&v);
	kf_stats_live(&blocks, &live);
	tagged = kf_tags_live(v.allocated, v.freed);
	v.untagged = kf_tags_live(live, tagged);
	writer.len = 0;
	writer.error = 0;
	if (format == KF_SNAPSHOT_JSON)
		kf_tags_write_json(&v, &sink);
	else
		kf_tags_write_dot(&v, &sink);
	snapshot_flush();
	kf_vm_drop(v.node, size);
	return writer.error;
}

/* @fd: closed afterwards; a negative errno is returned */
static int write_to(int fd, enum kf_snapshot_format format)
{
	int r;

	if (fd < 0)
		return fd;
	writer.fd = fd;
	r = write_view(format);
	kf_file_close(fd);
	return r;
}

/*
 * A device, a pipe or a link is not replaced: /dev/stdout is a link, and may
 * lead to a file with the program's output.
 */
static int write_into(enum kf_snapshot_format format)
{
	return write_to(
		kf_file_open(AT_FDCWD, writer.path, O_WRONLY | O_APPEND, 0),
		format);
}

static int snapshot_open_new(const char *name)
{
	return kf_file_open(writer.dir, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0640);
}

static int open_beside(void)
{
	int fd = snapshot_open_new(writer.beside);

	if (fd != -EEXIST)
		return fd;
	/* A process that was killed while it wrote left this file. */
	kf_file_unlink(writer.dir, writer.beside);
	return snapshot_open_new(writer.beside);
}

static int write_beside(enum kf_snapshot_format format)
{
	struct kf_text text;
	int fd, r;

	kf_text_init(&text, writer.beside, sizeof(writer.beside));
	kf_text_str(&text, writer.name);
	kf_text_str(&text, ".part");
	fd = open_beside();
	r = write_to(fd, format);
	if (!r)
		r = kf_file_rename(writer.dir, writer.beside, writer.name);
	if (fd >= 0 && r)
		kf_file_unlink(writer.dir, writer.beside);
	return r;
}

static int write_new(enum kf_snapshot_format format)
{
	int fd = snapshot_open_new(writer.name);
	int r = write_to(fd, format);

	if (fd >= 0 && r)
		kf_file_unlink(writer.dir, writer.name);
	return r;
}

static int write_one(enum kf_snapshot_format format, bool fresh)
{
	uint32_t mode = kf_file_mode(writer.path);
	bool is_file = !mode || S_ISREG(mode);
	int r;

	if (!is_file && !writer.derived) {
		r = write_into(format);
	} else if (!is_file) {
		r = -EEXIST;
	} else {
		writer.dir = kf_file_open_dir(writer.path, &writer.name);
		if (writer.dir < 0)
			return writer.dir;
		r = fresh ? write_new(format) : write_beside(format);
		kf_file_close(writer.dir);
	}
	if (!r)
		kf_probe_snapshot_written((uintptr_t)writer.path);
	return r;
}

/* A device, a pipe or a link gets no files of derived names beside it. */
static bool may_derive(const char *path, bool numbered)
{
	uint32_t mode = kf_file_mode(path);

	return !mode || S_ISREG(mode) || (numbered && S_ISDIR(mode));
}

/* @number: negative for none; then there is no ending either */
static int snapshot_set_path(const char *pattern, int number,
			     const char *ending)
{
	struct kf_text text;
	bool has_pid, to_child;

	kf_text_init(&text, writer.path, sizeof(writer.path));
	has_pid = kf_record_expand(&text, pattern);
	to_child = is_child && !has_pid;
	writer.derived = to_child || number >= 0;
	if (writer.derived && !may_derive(writer.path, number >= 0))
		return -ENOTSUP;
	if (to_child) {
		kf_text_char(&text, '.');
		kf_text_i64(&text, kf_process_pid());
	}
	if (number >= 0) {
		kf_text_char(&text, '.');
		for (int n = 1000; n > number && n > 1; n /= 10)
			kf_text_char(&text, '0');
		kf_text_i64(&text, number);
		kf_text_str(&text, ending);
	}
	return kf_text_full(&text) ? -ENAMETOOLONG : 0;
}

static const char *const endings[] = {
	[KF_SNAPSHOT_JSON] = ".json",
	[KF_SNAPSHOT_DOT] = ".dot",
};

static bool is_taken(const char *prefix, int number)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(endings); i++) {
		if (!snapshot_set_path(prefix, number, endings[i]) &&
		    kf_file_mode(writer.path))
			return true;
	}
	return false;
}

static int write_pair(const char *prefix, int number, bool fresh)
{
	int r = fresh && is_taken(prefix, number) ? -EEXIST : 0;

	for (size_t i = 0; !r && i < KF_ARRAY_SIZE(endings); i++) {
		r = snapshot_set_path(prefix, number, endings[i]);
		if (!r)
			r = write_one((enum kf_snapshot_format)i, fresh);
	}
	return r;
}

int kf_snapshot_write(const char *path, enum kf_snapshot_format format)
{
	int r;

	if (kf_process_is_barred())
		return -EPERM;
	if (!snapshot_claim())
		return -EBUSY;
	r = snapshot_set_path(path, -1, "");
	if (!r)
		r = write_one(format, false);
	snapshot_unclaim();
	return r;
}

int kf_snapshot_next(const char *prefix, bool fresh)
{
	int number, r;

	if (!prefix)
		prefix = prefix_path;
	if (!*prefix)
		return -EINVAL;
	if (kf_process_is_barred())
		return -EPERM;
	if (!snapshot_claim())
		return -EBUSY;
	do {
		number = (int)next_number++;
		r = write_pair(prefix, number, fresh);
	} while (fresh && r == -EEXIST && number < LAST_NUMBER);
	snapshot_unclaim();
	return r ? r : number;
}

void kf_snapshot_take_due(void)
{
	uint32_t last = __atomic_load_n(&kf_snapshot_last_ms, __ATOMIC_RELAXED);
	uint32_t now = kf_now_ms();

	if (now - last < kf_snapshot_interval_ms ||
	    !__atomic_compare_exchange_n(&kf_snapshot_last_ms, &last, now,
					 false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	kf_snapshot_next(NULL, false);
}

static void on_signal(int sig)
{
	int saved = errno;

	kf_snapshot_next(NULL, false);
	errno = saved;
}

static void snapshot_warn(const char *name, const char *value,
			  const char *allowed)
{
	char buf[PATH_MAX + 256];
	struct kf_text text;

	kf_conf_begin_line(&text, buf, sizeof(buf), name, value);
	kf_text_str(&text, "not ");
	kf_text_str(&text, allowed);
	kf_text_char(&text, '\n');
	kf_out(&text);
}

/* 0 for a signal that ends the program or reports a fault. */
static int signal_of(const char *name)
{
	static const struct {
		const char *name;
		int sig;
	} signals[] = {{"USR1", SIGUSR1},   {"USR2", SIGUSR2}, {"HUP", SIGHUP},
		       {"WINCH", SIGWINCH}, {"PROF", SIGPROF}, {"URG", SIGURG}};
	uint64_t n;

	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (size_t i = 0; i < KF_ARRAY_SIZE(signals); i++) {
		if (!strcmp(signals[i].name, name))
			return signals[i].sig;
	}
	if (!kf_parse_u64(name, &n))
		return 0;
	for (size_t i = 0; i < KF_ARRAY_SIZE(signals); i++) {
		if (signals[i].sig == (int)n)
			return (int)n;
	}
	return n >= 34 && n <= 64 ? (int)n : 0;
}

static void install_signal(const char *name)
{
	struct sigaction act = {.sa_handler = on_signal,
				.sa_flags = SA_RESTART};
	int sig = signal_of(name);
	int saved = errno;

	if (!sig)
		snapshot_warn("KONFISCATOR_SNAPSHOT_SIGNAL", name,
			      "USR1, USR2, HUP, WINCH, PROF, URG or 34 to 64");
	else
		__sigaction(sig, &act, NULL);
	errno = saved;
}

static void set_pattern(char *path, const char *name, const char *value)
{
	if (!value)
		return;
	if (!kf_record_pattern(path, value) &&
	    (path != prefix_path || may_derive(path, true)))
		return;
	path[0] = '\0';
	snapshot_warn(name, value, "a usable path");
}

void kf_snapshot_init(void)
{
	set_pattern(json_path, "KONFISCATOR_TAGS_JSON", kf_conf.tags_json);
	set_pattern(dot_path, "KONFISCATOR_TAGS_DOT", kf_conf.tags_dot);
	set_pattern(prefix_path, "KONFISCATOR_SNAPSHOT_PREFIX",
		    kf_conf.snapshot_prefix ? kf_conf.snapshot_prefix
		    : kf_conf.snapshot_interval || kf_conf.snapshot_signal
			    ? "konfiscator-tags"
			    : NULL);
	kf_snapshot_last_ms = kf_now_ms();
	kf_snapshot_interval_ms =
		(uint32_t)KF_MIN(kf_conf.snapshot_interval, 86400U) * 1000;
	if (kf_conf.snapshot_signal)
		install_signal(kf_conf.snapshot_signal);
}

void kf_snapshot_fork_child(void)
{
	is_child = true;
	next_number = 0;
	kf_snapshot_last_ms = kf_now_ms();
	snapshot_unclaim();
}

/* Runs after the destructors of the program, which may still allocate. */
__attribute__((destructor)) static void write_last(void)
{
	if (json_path[0])
		kf_snapshot_write(json_path, KF_SNAPSHOT_JSON);
	if (dot_path[0])
		kf_snapshot_write(dot_path, KF_SNAPSHOT_DOT);
	if (kf_snapshot_interval_ms)
		kf_snapshot_next(NULL, false);
}
