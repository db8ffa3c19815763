/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of a search: see listed.h.
 */
#include "config.h"

#include "reader/file-cache.h"
#include "reader/listed.h"
#include "stats/ledger-layout.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NAMES (1u << 17)   /* of a directory */
#define MAX_NAMES_OUTSIDE 8192 /* ... of another mount namespace */
#define SHARE_NS 500000000ull  /* of processor time */
#define PROBES 16

static bool listing_put(struct kf_listing *l, const struct kf_listed *f)
{
	struct kf_listed *grown;

	if (l->nr == l->room) {
		unsigned int room = l->room ? 2 * l->room : 16;

		grown = realloc(l->file, room * sizeof(*grown));
		if (!grown)
			return false;
		l->file = grown;
		l->room = room;
	}
	l->file[l->nr] = *f;
	l->file[l->nr].name = strdup(f->name);
	return l->file[l->nr++].name;
}

/* A directory and the file's place in it. */
struct into {
	struct kf_listing *l;
	unsigned int number;
};

static int listing_put_known(void *ctx, struct kf_cached_file *e)
{
	struct into *to = ctx;
	const struct kf_listed f = {.name = e->name,
				    .place = to->number,
				    .turn = KF_TURN_KNOWN,
				    .regular = true,
				    .cached = e};

	e->listed = true;
	return listing_put(to->l, &f) ? 0 : -1;
}

static int listing_put_name(struct kf_listing *l, const struct dirent *de,
			    const struct kf_place *place, unsigned int number,
			    struct kf_file_cache *cache)
{
	char name[sizeof(de->d_name)];
	struct kf_listed f = {.name = name,
			      .place = number,
			      .turn = KF_TURN_OTHERS,
			      .regular = de->d_type == DT_REG};

	memcpy(name, de->d_name, strlen(de->d_name) + 1);
	/* an open file of a container would keep its mount busy */
	if (cache && f.regular && !place->outside)
		f.cached = kf_file_cache_get(cache, place, name,
					     (uint64_t)de->d_ino);
	if (f.cached && f.cached->known)
		f.turn = KF_TURN_KNOWN;
	else if (f.cached && f.cached->odd)
		f.turn = KF_TURN_ODD;
	return listing_put(l, &f) ? 0 : -1;
}

static unsigned int listing_most(const struct kf_listing *l,
				 const struct kf_place *place)
{
	if (place->outside)
		return MAX_NAMES_OUTSIDE;
	return l->share ? MAX_NAMES : UINT_MAX;
}

static int listing_read(struct kf_listing *l, DIR *dir,
			const struct kf_place *place, unsigned int number,
			const char *part, struct kf_file_cache *cache)
{
	unsigned int most = listing_most(l, place);
	struct into to = {l, number};
	struct dirent *de;
	int rc = 0;

	while (!rc && (de = readdir(dir))) {
		if (de->d_name[0] == '.' || (part && !strstr(de->d_name, part)))
			continue;
		if (!most--) {
			l->nr_full++;
			return cache ? kf_file_cache_unlisted(cache, place,
							      listing_put_known,
							      &to)
				     : 0;
		}
		rc = listing_put_name(l, de, place, number, cache);
	}
	return rc;
}

int kf_listing_add(struct kf_listing *l, int fd, const struct kf_place *place,
		   unsigned int number, const char *part,
		   struct kf_file_cache *cache)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), rc;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return -1;
	}
	rc = listing_read(l, dir, place, number, part, cache);
	closedir(dir);
	return rc;
}

static bool share_is(const struct kf_share *s, unsigned int place,
		     uint32_t owner)
{
	return s->place == place && s->owner == owner;
}

/* Users beyond the room share with one that has come before. */
static struct kf_share *share_of(struct kf_listing *l, unsigned int place,
				 uint32_t owner)
{
	uint32_t at = (owner + place * 7919u) * 2654435761u >> 20;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct kf_share *s = &l->share[(at + i) % KF_NR_SHARES];

		if (!s->used)
			*s = (struct kf_share){
				.used = true, .place = place, .owner = owner};
		if (share_is(s, place, owner))
			return s;
	}
	return &l->share[at % KF_NR_SHARES];
}

/* Not of texts that must not collide. */
static uint64_t listed_hash(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

void kf_listed_note(struct kf_listed *l, const struct kf_file *f)
{
	const struct kf_stats_identity *id = &f->snap.id;

	l->ok = f->snap.result == KF_READ_OK;
	if (l->cached && f->snap.result != KF_READ_LATE) {
		l->cached->known = l->ok;
		l->cached->odd = !l->ok;
	}
	if (!l->ok)
		return;
	l->firm = f->firm;
	l->life = f->life;
	l->owner = f->snap.owner;
	l->id_pid = id->pid;
	l->pid_ns = id->pid_ns;
	l->start_ticks = id->start_ticks;
	l->created_ns = id->created_ns;
	l->boot = listed_hash(id->boot_id);
	l->dev = f->snap.dev;
	l->ino = f->snap.ino;
	if (l->cached)
		l->cached->owner = l->owner;
}

bool kf_listed_owned(struct kf_listed *f, int dirfd)
{
	struct stat st;

	if (f->cached && f->cached->owned) {
		f->owner = f->cached->owner;
		return true;
	}
	if (fstatat(dirfd, f->name, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	f->owner = st.st_uid;
	if (f->cached) {
		f->cached->owned = true;
		f->cached->owner = f->owner;
	}
	return true;
}

struct kf_share *kf_share_take(struct kf_listing *l, const struct kf_listed *f)
{
	struct kf_share *share = share_of(l, f->place, f->owner);

	return share->nr_files++ < KF_LEDGER_FILES ? share : NULL;
}

bool kf_share_is_over(const struct kf_share *share)
{
	return share->ns >= SHARE_NS;
}

void kf_listing_release(struct kf_listing *l)
{
	for (unsigned int i = 0; i < l->nr; i++)
		free(l->file[i].name);
	free(l->file);
	free(l->share);
	*l = (struct kf_listing){0};
}
