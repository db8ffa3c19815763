/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One stats file from disk into memory.
 *
 * Promises that nothing in the file is trusted: each offset, size and number is
 * checked against the size from fstat before it is used, every string is
 * terminated, and impossible numbers are "damaged". totals.c derives figures
 * from the counters.
 */
#include "reader/internal.h"
#include "reader/file-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest number of entries of a table, except slots. */
#define MAX_ENTRIES 4096
#define MAX_ENTRY_SIZE (1u << 16)

/* The header of minor versions without modules, more slots and ledger. */
#define HEADER_MIN offsetof(struct kf_stats_header, modules)
#define MINOR_MODULES 3
#define HEADER_3 offsetof(struct kf_stats_header, more)
#define MINOR_MORE 4
#define HEADER_4 offsetof(struct kf_stats_header, ending)
#define MINOR_ENDING 5
#define HEADER_5 offsetof(struct kf_stats_header, frames)
#define MINOR_FRAMES 6
#define HEADER_6 offsetof(struct kf_stats_header, calls)
#define MINOR_CALLS 7
#define HEADER_7 offsetof(struct kf_stats_header, family)
#define MINOR_FAMILY 8
#define HEADER_8 offsetof(struct kf_stats_header, moments)
#define MINOR_MOMENTS 9
#define HEADER_9 offsetof(struct kf_stats_header, reports)
#define MINOR_REPORTS 10 /* and the map */
#define HEADER_10 offsetof(struct kf_stats_header, mappings)
#define MINOR_MAPPINGS 11

/* The part that files of minor versions 5 to 7 have. */
#define ENDING_MIN offsetof(struct kf_stats_ending, exited)

/* Header, identity and ending, as this version has them. */
#define HEAD 2048

/* The part of a class that files of all versions have. */
#define CLASS_MIN offsetof(struct kf_stats_class, carved)

bool kf_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	char *p = buf;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return true;
}

static bool read_piece(const struct kf_source *src, void *buf, size_t len,
		       uint64_t offset)
{
	const char *piece = kf_source_get(src, offset, len);

	if (!piece)
		return kf_read_at(src->fd, buf, len, offset);
	memcpy(buf, piece, len);
	return true;
}

/*
 * If nothing was read ahead, the parts are read one by one, with their errors.
 */
static void read_at_once(struct kf_source *src, struct kf_room *room,
			 uint64_t begin, size_t len)
{
	ssize_t n = 0;

	if (!room->piece)
		room->piece = malloc(KF_PIECE_SIZE);
	if (room->piece)
		n = pread(src->fd, room->piece, KF_MIN(len, KF_PIECE_SIZE),
			  (off_t)begin);
	src->piece = room->piece;
	src->begin = begin;
	src->nr_piece = n > 0 ? (size_t)n : 0;
}

static enum kf_read_result snapshot_failed(struct kf_snapshot *s)
{
	s->error = errno;
	return KF_READ_ERROR;
}

/* Opening a FIFO may wait, and opening a device may do harm: check first. */
static enum kf_read_result open_regular(int dirfd, const char *name,
					bool regular, struct kf_snapshot *s,
					int *fd)
{
	struct stat st;

	if (!regular) {
		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
			return snapshot_failed(s);
		if (!S_ISREG(st.st_mode))
			return KF_READ_FOREIGN;
	}
	*fd = openat(dirfd, name,
		     O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (*fd < 0)
		return errno == ELOOP ? KF_READ_FOREIGN : snapshot_failed(s);
	if (fstat(*fd, &st))
		return snapshot_failed(s);
	if (!S_ISREG(st.st_mode))
		return KF_READ_FOREIGN;
	s->file_size = (uint64_t)st.st_size;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->owner = st.st_uid;
	return KF_READ_OK;
}

static bool section_holds(const struct kf_source *src,
			  const struct kf_stats_section *sec, size_t entry_min,
			  uint32_t nr_min, uint32_t nr_max)
{
	uint64_t bytes = (uint64_t)sec->entry_size * sec->nr;

	if (sec->nr < nr_min || sec->nr > nr_max)
		return false;
	/* checked even if @nr is 0: memory for one entry is allocated */
	if (sec->entry_size > MAX_ENTRY_SIZE)
		return false;
	if (!sec->nr)
		return true;
	if (sec->entry_size < entry_min)
		return false;
	if (sec->offset < HEADER_MIN || sec->offset % 8)
		return false;
	return sec->offset <= src->size && bytes <= src->size - sec->offset;
}

/*
 * A section other than @more: it must be near the begin of the file, so that
 * readers need little memory.
 */
static bool rest_holds(const struct kf_source *src,
		       const struct kf_stats_section *sec, size_t entry_min,
		       uint32_t nr_min, uint32_t nr_max)
{
	return section_holds(src, sec, entry_min, nr_min, nr_max) &&
	       (!sec->nr || sec->offset + (uint64_t)sec->entry_size * sec->nr <=
				    KF_STATS_MAX_REST);
}

static size_t slot_bytes(uint32_t nr_classes)
{
	return offsetof(struct kf_slot, class) +
	       sizeof(struct kf_stats_pair) * (size_t)nr_classes;
}

static bool sections_hold(const struct kf_source *src)
{
	const struct kf_stats_header *h = &src->h;
	size_t slot = slot_bytes(h->classes.nr);

	return rest_holds(src, &h->identity, sizeof(struct kf_stats_identity),
			  1, 1) &&
	       rest_holds(src, &h->descs, sizeof(struct kf_stats_desc), 0,
			  MAX_ENTRIES) &&
	       rest_holds(src, &h->classes, CLASS_MIN, 0, MAX_ENTRIES) &&
	       rest_holds(src, &h->words, 8, 1, MAX_ENTRIES) &&
	       rest_holds(src, &h->control, 8, 0, MAX_ENTRIES) &&
	       rest_holds(src, &h->slots, slot, 0, KF_STATS_MAX_SLOTS) &&
	       rest_holds(src, &h->tags, sizeof(struct kf_stats_tag), 0,
			  UINT32_MAX) &&
	       rest_holds(src, &h->stacks, sizeof(struct kf_stats_stack), 0,
			  UINT32_MAX) &&
	       rest_holds(src, &h->modules, sizeof(struct kf_stats_module), 0,
			  UINT32_MAX) &&
	       rest_holds(src, &h->ending, ENDING_MIN, 0, 1) &&
	       rest_holds(src, &h->frames, sizeof(struct kf_stats_frame), 0,
			  UINT32_MAX) &&
	       rest_holds(src, &h->calls, sizeof(struct kf_stats_call), 0,
			  UINT32_MAX) &&
	       rest_holds(src, &h->lifetimes, sizeof(struct kf_stats_lifetimes),
			  0, UINT32_MAX) &&
	       rest_holds(src, &h->samples, sizeof(struct kf_stats_sample), 0,
			  UINT32_MAX) &&
	       rest_holds(src, &h->moments, sizeof(struct kf_stats_moment), 0,
			  MAX_ENTRIES) &&
	       rest_holds(src, &h->reports, sizeof(struct kf_stats_report), 0,
			  MAX_ENTRIES) &&
	       rest_holds(src, &h->map, sizeof(struct kf_stats_cell), 0,
			  UINT32_MAX) &&
	       rest_holds(src, &h->mappings, sizeof(struct kf_stats_mapping), 0,
			  UINT32_MAX) &&
	       section_holds(src, &h->more, slot, 0, KF_STATS_MAX_MORE);
}

static size_t header_bytes(const struct kf_stats_header *h)
{
	if (h->minor < MINOR_MODULES)
		return HEADER_MIN;
	if (h->minor < MINOR_MORE)
		return HEADER_3;
	if (h->minor < MINOR_ENDING)
		return HEADER_4;
	if (h->minor < MINOR_FRAMES)
		return HEADER_5;
	if (h->minor < MINOR_CALLS)
		return HEADER_6;
	if (h->minor < MINOR_FAMILY)
		return HEADER_7;
	if (h->minor < MINOR_MOMENTS)
		return HEADER_8;
	if (h->minor < MINOR_REPORTS)
		return HEADER_9;
	return h->minor < MINOR_MAPPINGS ? HEADER_10 : sizeof(*h);
}

static bool header_holds(const struct kf_source *src)
{
	const struct kf_stats_header *h = &src->h;

	return h->ready == 1 && h->header_size >= header_bytes(h) &&
	       h->header_size <= src->size && h->total_size >= h->header_size &&
	       h->total_size <= src->size && src->size <= KF_STATS_MAX_FILE &&
	       sections_hold(src);
}

/*
 * The file grows before its header does. A header that does not fit the size
 * from before it was read is checked against the size now.
 */
static enum kf_read_result check_header(struct kf_source *src,
					struct kf_snapshot *s)
{
	struct stat st;

	if (src->h.ready == 0)
		return KF_READ_NOT_READY;
	src->size = s->file_size;
	if (header_holds(src))
		return KF_READ_OK;
	if (fstat(src->fd, &st))
		return KF_READ_DAMAGED;
	s->file_size = src->size = (uint64_t)st.st_size;
	return header_holds(src) ? KF_READ_OK : KF_READ_DAMAGED;
}

static enum kf_read_result snapshot_read_header(struct kf_source *src,
						struct kf_snapshot *s)
{
	struct kf_stats_header *h = &src->h;

	if (s->file_size == 0)
		return KF_READ_NOT_READY;
	if (s->file_size < sizeof(h->magic))
		return KF_READ_FOREIGN;
	if (!read_piece(src, &h->magic, sizeof(h->magic), 0))
		return KF_READ_DAMAGED;
	if (h->magic != KF_STATS_MAGIC)
		return h->magic ? KF_READ_FOREIGN : KF_READ_NOT_READY;
	if (!read_piece(src, h, offsetof(struct kf_stats_header, header_size),
			0))
		return KF_READ_DAMAGED;
	s->major = h->major;
	s->minor = h->minor;
	if (h->major != KF_STATS_MAJOR)
		return KF_READ_INCOMPATIBLE;
	if (!read_piece(src, h, header_bytes(h), 0))
		return KF_READ_DAMAGED;
	s->family = h->family;
	return check_header(src, s);
}

static void force_end(char *s, size_t size)
{
	s[size - 1] = '\0';
}

void kf_identity_end(struct kf_stats_identity *id)
{
	force_end(id->boot_id, sizeof(id->boot_id));
	force_end(id->comm, sizeof(id->comm));
	force_end(id->exe, sizeof(id->exe));
	force_end(id->name, sizeof(id->name));
	force_end(id->engine, sizeof(id->engine));
	force_end(id->version, sizeof(id->version));
}

static bool read_identity(struct kf_source *src, struct kf_snapshot *s)
{
	struct kf_stats_identity *id = &s->id;
	struct kf_stats_ending *ending = &s->ending;

	if (!read_piece(src, id, sizeof(*id), src->h.identity.offset))
		return false;
	kf_identity_end(id);
	s->knows_exit =
		src->h.ending.nr && src->h.ending.entry_size >= sizeof(*ending);
	s->attached = src->h.attached == 1;
	if (src->h.ending.nr &&
	    !read_piece(
		    src, ending,
		    KF_MIN(sizeof(*ending), (size_t)src->h.ending.entry_size),
		    src->h.ending.offset))
		return false;
	force_end(ending->cmdline, sizeof(ending->cmdline));
	force_end(ending->cgroup, sizeof(ending->cgroup));
	return id->pid > 0;
}

/* The range of the changing parts. */
static void read_what_changes(struct kf_source *src, struct kf_room *room)
{
	const struct kf_stats_header *h = &src->h;
	uint64_t begin = KF_MIN(h->classes.offset, h->words.offset);
	uint64_t end =
		h->slots.offset + (uint64_t)h->slots.entry_size * h->slots.nr;

	begin = KF_MIN(begin, (uint64_t)h->slots.offset);
	read_at_once(src, room, begin, KF_MIN(end - begin, KF_PIECE_SIZE));
}

static bool snapshot_is_described(const struct kf_cached_file *e,
				  const struct kf_source *src,
				  const struct kf_snapshot *s)
{
	const struct kf_stats_section *a = &src->h.descs;

	return e && e->described && e->created_ns == s->id.created_ns &&
	       a->offset == e->descs.offset && a->nr == e->descs.nr &&
	       a->entry_size == e->descs.entry_size;
}

static enum kf_read_result read_tables(struct kf_source *src,
				       const struct kf_read_how *how,
				       struct kf_desc_cache *cache,
				       struct kf_snapshot *s)
{
	uint64_t described = 0;
	bool ok;

	errno = 0;
	ok = read_identity(src, s);
	/* the descriptions are not read again */
	if (ok && snapshot_is_described(how->cached, src, s)) {
		described = how->cached->described;
		read_what_changes(src, &cache->room);
	}
	ok = ok && kf_counts_read(src, described, cache, s) &&
	     kf_tables_read(src, how->tables, s);
	if (ok)
		return KF_READ_OK;
	if (errno == ETIME)
		return KF_READ_LATE;
	if (errno == ENOMEM || errno == EIO)
		return snapshot_failed(s);
	return KF_READ_DAMAGED;
}

enum kf_read_result kf_snapshot_read(int dirfd, const char *name,
				     struct kf_snapshot *s)
{
	return kf_snapshot_read_with(dirfd, name, 0, s);
}

enum kf_read_result kf_snapshot_read_with(int dirfd, const char *name,
					  unsigned int tables,
					  struct kf_snapshot *s)
{
	const struct kf_read_how how = {.tables = tables};

	return kf_snapshot_read_as(dirfd, name, &how, s);
}

static void snapshot_note(struct kf_cached_file *e, const struct kf_source *src,
			  const struct kf_snapshot *s)
{
	e->described = s->described;
	e->descs = src->h.descs;
	e->created_ns = s->id.created_ns;
}

static void snapshot_read(int dirfd, const char *name,
			  const struct kf_read_how *how,
			  struct kf_desc_cache *cache, struct kf_snapshot *s)
{
	bool described = how->cached && how->cached->described;
	struct kf_source src = {
		.fd = -1, .until_ns = how->until_ns, .torn = how->torn};

	s->result = open_regular(dirfd, name, how->regular, s, &src.fd);
	if (s->result == KF_READ_OK) {
		read_at_once(&src, &cache->room, 0,
			     described ? HEAD : KF_PIECE_SIZE);
		s->result = snapshot_read_header(&src, s);
	}
	if (s->result == KF_READ_OK)
		s->result = read_tables(&src, how, cache, s);
	if (s->result == KF_READ_OK && how->cached)
		snapshot_note(how->cached, &src, s);
	if (src.fd >= 0)
		close(src.fd);
}

enum kf_read_result kf_snapshot_read_as(int dirfd, const char *name,
					const struct kf_read_how *how,
					struct kf_snapshot *s)
{
	struct kf_desc_cache own = {0};

	memset(s, 0, sizeof(*s));
	if (kf_late(how->until_ns))
		s->result = KF_READ_LATE;
	else
		snapshot_read(dirfd, name, how, how->cache ? how->cache : &own,
			      s);
	kf_desc_cache_release(&own);
	if (s->result == KF_READ_OK)
		kf_totals_derive(s);
	return s->result;
}

void kf_snapshot_release(struct kf_snapshot *s)
{
	if (!s->lent) {
		free(s->counters);
		free(s->classes);
		free(s->threads);
	}
	free(s->tags);
	free(s->stacks);
	free(s->frames);
	free(s->calls);
	free(s->modules);
	free(s->lifetimes);
	free(s->samples);
	free(s->events);
	free(s->moments);
	free(s->reports);
	free(s->cells);
	free(s->mappings);
	s->tags = NULL;
	s->stacks = NULL;
	s->frames = NULL;
	s->calls = NULL;
	s->modules = NULL;
	s->lifetimes = NULL;
	s->samples = NULL;
	s->events = NULL;
	s->moments = NULL;
	s->reports = NULL;
	s->cells = NULL;
	s->mappings = NULL;
	s->nr_mappings = 0;
	s->nr_tags = s->nr_stacks = s->nr_frames = s->nr_modules = 0;
	s->nr_calls = s->nr_lifetimes = s->nr_samples = 0;
	s->nr_events = s->nr_moments = s->nr_reports = s->nr_cells = 0;
	s->counters = NULL;
	s->lent = false;
	s->classes = NULL;
	s->threads = NULL;
	s->nr_counters = s->nr_classes = s->nr_threads = 0;
}

static const struct kf_counter *
snapshot_counter_named(const struct kf_snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < s->nr_counters; i++) {
		if (!strcmp(s->counters[i].name, name))
			return &s->counters[i];
	}
	return NULL;
}

const struct kf_counter *kf_snapshot_counter(const struct kf_snapshot *s,
					     enum kf_stat stat)
{
	static const char *const names[KF_NR_STATS] = {
#define KF_STAT_SLOT(id, type, unit, metric, labels, help) #id,
#define KF_STAT_WORD KF_STAT_SLOT
#include "stats/stats.def"
#undef KF_STAT_WORD
#undef KF_STAT_SLOT
	};
	const char *name = names[stat];

	/* files of this version have the counters in the order of stats.def */
	if ((unsigned int)stat < s->nr_counters &&
	    !strcmp(s->counters[stat].name, name))
		return &s->counters[stat];
	return snapshot_counter_named(s, name);
}

static uint64_t snapshot_counter_value(const struct kf_counter *c)
{
	return c ? c->value : 0;
}

uint64_t kf_snapshot_stat(const struct kf_snapshot *s, enum kf_stat stat)
{
	return snapshot_counter_value(kf_snapshot_counter(s, stat));
}

uint64_t kf_snapshot_value(const struct kf_snapshot *s, const char *name)
{
	return snapshot_counter_value(snapshot_counter_named(s, name));
}

const char *kf_read_result_name(enum kf_read_result result)
{
	static const char *const names[KF_NR_READ_RESULTS] = {
		[KF_READ_OK] = "ok",
		[KF_READ_NOT_READY] = "not_ready",
		[KF_READ_FOREIGN] = "foreign",
		[KF_READ_INCOMPATIBLE] = "incompatible",
		[KF_READ_DAMAGED] = "damaged",
		[KF_READ_ERROR] = "error",
		[KF_READ_LATE] = "late",
		[KF_READ_CONFLICT] = "conflict",
		[KF_READ_IMPOSSIBLE] = "impossible",
		[KF_READ_SURPLUS] = "surplus",
	};

	return result < KF_NR_READ_RESULTS ? names[result] : "error";
}
