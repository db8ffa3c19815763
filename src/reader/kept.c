/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cache of a search: see kept.h.
 *
 * An open directory of procfs belongs to its process for ever: after the end of
 * the process it is empty, even if the pid was reused.
 */
#include "config.h"

#include "reader/claim.h"
#include "reader/kept.h"
#include "reader/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kf_kept *kf_kept_new(void)
{
	struct kf_kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	pthread_mutex_init(&kept->ids.lock, NULL);
	for (int i = 0; i < KF_KEPT_READERS; i++) {
		kept->cache[i].ids = &kept->ids;
		kept->cache[i].room.lend = true;
	}
	return kept;
}

static struct kf_kept_file **file_cache_bucket(struct kf_kept *kept,
					       const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return &kept->file[(h ^ h >> 16) % KF_KEPT_BUCKETS];
}

struct kf_kept_file *kf_kept_get(struct kf_kept *kept,
				 const struct kf_place *dir, const char *name,
				 uint64_t ino)
{
	struct kf_kept_file **at = file_cache_bucket(kept, name), *k;
	size_t len = strlen(name) + 1;

	for (k = *at; k; k = k->next) {
		if (k->dir_ino == dir->ino && k->dir_dev == dir->dev &&
		    !strcmp(k->name, name))
			break;
	}
	if (!k) {
		k = calloc(1, sizeof(*k) + len);
		if (!k)
			return NULL;
		k->dir_dev = dir->dev;
		k->dir_ino = dir->ino;
		k->file_ino = ino;
		k->fd = k->procfd = -1;
		memcpy(k->name, name, len);
		k->next = *at;
		*at = k;
	}
	/* another file has the name now */
	if (k->file_ino != ino)
		kf_kept_close(k);
	k->file_ino = ino;
	k->listed = true;
	return k;
}

static void drop_process(struct kf_kept_file *k)
{
	if (k->procfd >= 0)
		close(k->procfd);
	k->procfd = -1;
	k->text = 0;
}

void kf_kept_close(struct kf_kept_file *k)
{
	drop_process(k);
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	k->described = 0;
}

static void file_cache_sweep_bucket(struct kf_kept_file **at)
{
	struct kf_kept_file *k;

	while ((k = *at)) {
		if (k->listed) {
			k->listed = false;
			at = &k->next;
			continue;
		}
		*at = k->next;
		kf_kept_close(k);
		free(k);
	}
}

void kf_kept_sweep(struct kf_kept *kept)
{
	for (int i = 0; i < KF_KEPT_BUCKETS; i++)
		file_cache_sweep_bucket(&kept->file[i]);
}

void kf_kept_free(struct kf_kept *kept)
{
	if (!kept)
		return;
	/* nothing is listed, so two sweeps drop all entries */
	kf_kept_sweep(kept);
	kf_kept_sweep(kept);
	for (int i = 0; i < KF_KEPT_READERS; i++)
		kf_desc_cache_release(&kept->cache[i]);
	kf_desc_ids_release(&kept->ids);
	free(kept);
}

int kf_kept_high(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, KF_KEPT_LOWEST);

	if (fd >= 0)
		close(fd);
	return high;
}

void kf_kept_file(struct kf_kept_file *k, const struct kf_source *src,
		  const struct kf_snapshot *s)
{
	kf_kept_close(k);
	k->fd = fcntl(src->fd, F_DUPFD_CLOEXEC, KF_KEPT_LOWEST);
	k->size = s->file_size;
	k->described = s->described;
	k->dev = s->dev;
	k->ino = s->ino;
	k->owner = s->owner;
	k->h = src->h;
	k->id = s->id;
	k->ending = s->ending;
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

bool kf_kept_same(const struct kf_kept_file *k, const struct kf_stats_header *h)
{
	return k->h.minor == h->minor &&
	       same_table(&k->h.identity, &h->identity) &&
	       same_table(&k->h.descs, &h->descs) &&
	       same_table(&k->h.classes, &h->classes) &&
	       same_table(&k->h.words, &h->words) &&
	       same_place(&k->h.slots, &h->slots) &&
	       same_place(&k->h.more, &h->more);
}

/* Reads the name of a process; false if kf_life_of() has to be asked. */
static bool read_comm(struct kf_life_view *view, const struct kf_kept_file *k)
{
	char text[32];
	ssize_t len = kf_proc_read_once(k->procfd, "comm", text, sizeof(text));

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

bool kf_kept_alive(struct kf_life_view *view, struct kf_kept_file *k, int dirfd,
		   struct kf_statm *m)
{
	if (k->fd < 0 || k->procfd < 0 || !read_comm(view, k) ||
	    !kf_statm_read(k->procfd, m))
		return false;
	/* a zombie has no memory: kf_life_of() decides */
	if (!m->all)
		return false;
	/* another program usually has another name and size */
	if (m->text == k->text && !strcmp(view->comm, k->comm) &&
	    ++k->looked % KF_EXE_EVERY)
		return true;
	if (kf_life_execed(view, k->pid, &k->id, dirfd, k->name) ||
	    kf_claim_of(view, k->pid, k->owner) == KF_CLAIM_NONE)
		return false;
	k->text = m->text;
	memcpy(k->comm, view->comm, sizeof(k->comm));
	return true;
}

void kf_kept_process(struct kf_life_view *view, struct kf_kept_file *k,
		     const struct kf_file *f)
{
	drop_process(k);
	if (k->fd < 0)
		return;
	k->procfd = kf_kept_high(kf_proc_open(view->procfd, f->pid));
	k->pid = f->pid;
	k->firm = f->firm;
	/* check that the pid was not reused before the directory was opened */
	if (k->procfd >= 0 && kf_life_start(view, f->pid) != k->id.start_ticks)
		drop_process(k);
}
