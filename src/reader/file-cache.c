/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cache of a search: see file-cache.h.
 *
 * An open directory of procfs belongs to its process for ever: after the end of
 * the process it is empty, even if the pid was reused.
 */
#include "config.h"

#include "reader/claim.h"
#include "reader/file-cache.h"
#include "reader/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct kf_file_cache *kf_file_cache_new(void)
{
	struct kf_file_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	if (getrandom(&cache->key, sizeof(cache->key), 0) < 0)
		cache->key = kf_clock_ns() << 16;
	cache->key |= 1;
	pthread_mutex_init(&cache->ids.lock, NULL);
	for (int i = 0; i < KF_FILE_CACHE_READERS; i++) {
		cache->descs[i].ids = &cache->ids;
		cache->descs[i].room.lend = true;
	}
	return cache;
}

static struct kf_cached_file **file_cache_bucket(struct kf_file_cache *cache,
						 const char *name)
{
	uint64_t h = cache->key;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * cache->key;
	return &cache->file[(h >> 40) % KF_FILE_CACHE_BUCKETS];
}

struct kf_cached_file *kf_file_cache_get(struct kf_file_cache *cache,
					 const struct kf_place *dir,
					 const char *name, uint64_t ino)
{
	struct kf_cached_file **at = file_cache_bucket(cache, name), *e;
	size_t len = strlen(name) + 1;

	for (e = *at; e; e = e->next) {
		if (e->dir_ino == dir->ino && e->dir_dev == dir->dev &&
		    !strcmp(e->name, name))
			break;
	}
	if (!e) {
		e = calloc(1, sizeof(*e) + len);
		if (!e)
			return NULL;
		e->dir_dev = dir->dev;
		e->dir_ino = dir->ino;
		e->file_ino = ino;
		e->procfd = -1;
		memcpy(e->name, name, len);
		e->next = *at;
		*at = e;
	}
	/* another file has the name now */
	if (e->file_ino != ino)
		kf_cached_file_forget(e);
	e->file_ino = ino;
	e->listed = true;
	return e;
}

static void drop_process(struct kf_cached_file *e)
{
	if (e->procfd >= 0)
		close(e->procfd);
	e->procfd = -1;
	e->text = 0;
}

void kf_cached_file_forget(struct kf_cached_file *e)
{
	drop_process(e);
	e->slow = e->known = e->odd = e->owned = false;
	e->described = 0;
}

static bool is_unlisted(const struct kf_cached_file *e,
			const struct kf_place *dir)
{
	return !e->listed && e->known && e->dir_ino == dir->ino &&
	       e->dir_dev == dir->dev;
}

int kf_file_cache_unlisted(struct kf_file_cache *cache,
			   const struct kf_place *dir,
			   int (*fn)(void *ctx, struct kf_cached_file *e),
			   void *ctx)
{
	int rc = 0;

	for (int i = 0; i < KF_FILE_CACHE_BUCKETS; i++) {
		struct kf_cached_file *e = cache->file[i];

		for (; e && !rc; e = e->next)
			rc = is_unlisted(e, dir) ? fn(ctx, e) : 0;
	}
	return rc;
}

static void file_cache_sweep_bucket(struct kf_cached_file **at)
{
	struct kf_cached_file *e;

	while ((e = *at)) {
		if (e->listed) {
			e->listed = false;
			at = &e->next;
			continue;
		}
		*at = e->next;
		kf_cached_file_forget(e);
		free(e);
	}
}

void kf_file_cache_sweep(struct kf_file_cache *cache)
{
	for (int i = 0; i < KF_FILE_CACHE_BUCKETS; i++)
		file_cache_sweep_bucket(&cache->file[i]);
}

void kf_file_cache_free(struct kf_file_cache *cache)
{
	if (!cache)
		return;
	/* nothing is listed, so two sweeps drop all entries */
	kf_file_cache_sweep(cache);
	kf_file_cache_sweep(cache);
	for (int i = 0; i < KF_FILE_CACHE_READERS; i++)
		kf_desc_cache_release(&cache->descs[i]);
	kf_desc_ids_release(&cache->ids);
	free(cache);
}

int kf_file_cache_move_fd(int fd)
{
	int high =
		fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, KF_FILE_CACHE_LOWEST);

	if (fd >= 0)
		close(fd);
	return high;
}

/* Reads the name of a process; false if kf_life_of() has to be asked. */
static bool read_comm(struct kf_life_view *view, const struct kf_cached_file *e)
{
	char text[32];
	ssize_t len = kf_proc_read_once(e->procfd, "comm", text, sizeof(text));

	/* stat, which kf_life_of() reads, has such names in another form */
	if (len < 1 || text[len - 1] != '\n' || memchr(text, '\\', (size_t)len))
		return false;
	text[len - 1] = '\0';
	if (strlen(text) != (size_t)len - 1 || strchr(text, '\n') ||
	    (size_t)len > sizeof(view->comm))
		return false;
	memcpy(view->comm, text, (size_t)len);
	return true;
}

bool kf_statm_read(int procfd, struct kf_statm *m)
{
	char text[256], *at = text;

	if (kf_proc_read_once(procfd, "statm", text, sizeof(text)) < 1)
		return false;
	m->all = strtoull(at, &at, 10);
	m->resident = strtoull(at, &at, 10);
	m->shared = strtoull(at, &at, 10);
	m->text = strtoull(at, &at, 10);
	return true;
}

/* Whether the file, or one that took its place, still names the process. */
static bool names_process(const struct kf_cached_file *e,
			  const struct kf_snapshot *s)
{
	return e->id_pid == s->id.pid && e->start_ticks == s->id.start_ticks &&
	       e->claimed_by == s->owner;
}

bool kf_cached_file_is_alive(struct kf_life_view *view,
			     struct kf_cached_file *e,
			     const struct kf_snapshot *s, int dirfd,
			     struct kf_statm *m)
{
	if (e->procfd < 0 || !names_process(e, s) || !read_comm(view, e) ||
	    !kf_statm_read(e->procfd, m))
		return false;
	/* a zombie has no memory: kf_life_of() decides */
	if (!m->all)
		return false;
	/* another program usually has another name and size */
	if (m->text == e->text && !strcmp(view->comm, e->comm) &&
	    ++e->looked % KF_EXE_EVERY)
		return true;
	if (kf_life_execed(view, e->pid, &s->id, dirfd, e->name) ||
	    kf_claim_of(view, e->pid, s->owner) == KF_CLAIM_NONE)
		return false;
	e->text = m->text;
	memcpy(e->comm, view->comm, sizeof(e->comm));
	return true;
}

void kf_cached_file_store_process(struct kf_life_view *view,
				  struct kf_cached_file *e,
				  const struct kf_file *f)
{
	const struct kf_stats_identity *id = &f->snap.id;

	drop_process(e);
	e->procfd = kf_file_cache_move_fd(kf_proc_open(view->procfd, f->pid));
	e->pid = f->pid;
	e->id_pid = id->pid;
	e->start_ticks = id->start_ticks;
	e->claimed_by = f->snap.owner;
	e->firm = f->firm;
	/* check that the pid was not reused before the directory was opened */
	if (e->procfd >= 0 && kf_life_start(view, f->pid) != id->start_ticks)
		drop_process(e);
}
