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
#include <unistd.h>

struct kf_file_cache *kf_file_cache_new(void)
{
	struct kf_file_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
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
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return &cache->file[(h ^ h >> 16) % KF_FILE_CACHE_BUCKETS];
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
		e->fd = e->procfd = -1;
		memcpy(e->name, name, len);
		e->next = *at;
		*at = e;
	}
	/* another file has the name now */
	if (e->file_ino != ino)
		kf_cached_file_close(e);
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

void kf_cached_file_close(struct kf_cached_file *e)
{
	drop_process(e);
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	e->described = 0;
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
		kf_cached_file_close(e);
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

void kf_cached_file_store(struct kf_cached_file *e, const struct kf_source *src,
			  const struct kf_snapshot *s)
{
	kf_cached_file_close(e);
	e->fd = fcntl(src->fd, F_DUPFD_CLOEXEC, KF_FILE_CACHE_LOWEST);
	e->size = s->file_size;
	e->described = s->described;
	e->dev = s->dev;
	e->ino = s->ino;
	e->owner = s->owner;
	e->h = src->h;
	e->id = s->id;
	e->ending = s->ending;
}

static bool same_place(const struct kf_stats_section *a,
		       const struct kf_stats_section *b)
{
	return a->offset == b->offset && a->entry_size == b->entry_size;
}

static bool same_table(const struct kf_stats_section *a,
		       const struct kf_stats_section *b)
{
	return same_place(a, b) && a->nr == b->nr;
}

bool kf_cached_file_matches(const struct kf_cached_file *e,
			    const struct kf_stats_header *h)
{
	return e->h.minor == h->minor &&
	       same_table(&e->h.identity, &h->identity) &&
	       same_table(&e->h.descs, &h->descs) &&
	       same_table(&e->h.classes, &h->classes) &&
	       same_table(&e->h.words, &h->words) &&
	       same_place(&e->h.slots, &h->slots) &&
	       same_place(&e->h.more, &h->more);
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

bool kf_cached_file_is_alive(struct kf_life_view *view,
			     struct kf_cached_file *e, int dirfd,
			     struct kf_statm *m)
{
	if (e->fd < 0 || e->procfd < 0 || !read_comm(view, e) ||
	    !kf_statm_read(e->procfd, m))
		return false;
	/* a zombie has no memory: kf_life_of() decides */
	if (!m->all)
		return false;
	/* another program usually has another name and size */
	if (m->text == e->text && !strcmp(view->comm, e->comm) &&
	    ++e->looked % KF_EXE_EVERY)
		return true;
	if (kf_life_execed(view, e->pid, &e->id, dirfd, e->name) ||
	    kf_claim_of(view, e->pid, e->owner) == KF_CLAIM_NONE)
		return false;
	e->text = m->text;
	memcpy(e->comm, view->comm, sizeof(e->comm));
	return true;
}

void kf_cached_file_store_process(struct kf_life_view *view,
				  struct kf_cached_file *e,
				  const struct kf_file *f)
{
	drop_process(e);
	if (e->fd < 0)
		return;
	e->procfd = kf_file_cache_move_fd(kf_proc_open(view->procfd, f->pid));
	e->pid = f->pid;
	e->firm = f->firm;
	/* check that the pid was not reused before the directory was opened */
	if (e->procfd >= 0 && kf_life_start(view, f->pid) != e->id.start_ticks)
		drop_process(e);
}
