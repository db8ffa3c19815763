/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One stats file from disk into memory.
 *
 * Promises that nothing in the file is believed: each offset, size and number
 * is checked against the size that fstat gives before it is used, every string
 * is forced to end, and numbers that make no sense are "damaged". What the
 * figures mean together is left to totals.c.
 */
#include "reader/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENTRIES 4096 /* of any table but the slots */
#define MAX_ENTRY_SIZE (1u << 16)
#define MAX_TABLE (4u << 20) /* bytes of a table that is read whole */
#define NR_SEQ_EAGER 100
#define MAX_SEQ_TRIES 600
#define SLOTS_AT_ONCE 16
#define HEAD_SIZE (32 * KF_KIB) /* all of most files */

/* What a class has in files of all versions. */
#define CLASS_MIN offsetof(struct kf_stats_class, carved)

/*
 * A file being read: its descriptor, its size now, its first bytes as they were
 * read at once, its checked header.
 */
struct source {
	int fd;
	uint64_t size;
	const char *head;
	size_t nr_head;
	struct kf_stats_header h;
};

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

/* A piece of the file, if it was read already; or NULL. */
static const char *in_head(const struct source *src, uint64_t offset,
			   uint64_t len)
{
	if (offset > src->nr_head || len > src->nr_head - offset)
		return NULL;
	return src->head + offset;
}

static bool read_piece(const struct source *src, void *buf, size_t len,
		       uint64_t offset)
{
	const char *piece = in_head(src, offset, len);

	if (!piece)
		return kf_read_at(src->fd, buf, len, offset);
	memcpy(buf, piece, len);
	return true;
}

/* Where nothing comes, the pieces are tried one by one, and their errors told.
 */
static void read_head(struct source *src, char *head)
{
	ssize_t n = head ? pread(src->fd, head, HEAD_SIZE, 0) : 0;

	src->head = head;
	src->nr_head = n > 0 ? (size_t)n : 0;
}

static enum kf_read_result failed(struct kf_snapshot *s)
{
	s->error = errno;
	return KF_READ_ERROR;
}

/* Opening a FIFO or a device could wait or do harm: look before. */
static enum kf_read_result open_regular(int dirfd, const char *name,
					bool regular, struct kf_snapshot *s,
					int *fd)
{
	struct stat st;

	if (!regular) {
		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
			return failed(s);
		if (!S_ISREG(st.st_mode))
			return KF_READ_FOREIGN;
	}
	*fd = openat(dirfd, name,
		     O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (*fd < 0)
		return errno == ELOOP ? KF_READ_FOREIGN : failed(s);
	if (fstat(*fd, &st))
		return failed(s);
	if (!S_ISREG(st.st_mode))
		return KF_READ_FOREIGN;
	s->file_size = (uint64_t)st.st_size;
	return KF_READ_OK;
}

static bool section_holds(const struct source *src,
			  const struct kf_stats_section *sec, size_t entry_min,
			  uint32_t nr_min, uint32_t nr_max)
{
	uint64_t bytes = (uint64_t)sec->entry_size * sec->nr;

	if (sec->nr < nr_min || sec->nr > nr_max)
		return false;
	if (!sec->nr)
		return true;
	if (sec->entry_size < entry_min || sec->entry_size > MAX_ENTRY_SIZE)
		return false;
	if (sec->offset < sizeof(struct kf_stats_header) || sec->offset % 8)
		return false;
	return sec->offset <= src->size && bytes <= src->size - sec->offset;
}

static size_t slot_bytes(uint32_t nr_classes)
{
	return offsetof(struct kf_slot, class) +
	       sizeof(struct kf_stats_pair) * (size_t)nr_classes;
}

static bool sections_hold(const struct source *src)
{
	const struct kf_stats_header *h = &src->h;

	return section_holds(src, &h->identity,
			     sizeof(struct kf_stats_identity), 1, 1) &&
	       section_holds(src, &h->descs, sizeof(struct kf_stats_desc), 0,
			     MAX_ENTRIES) &&
	       section_holds(src, &h->classes, CLASS_MIN, 0, MAX_ENTRIES) &&
	       section_holds(src, &h->words, 8, 1, MAX_ENTRIES) &&
	       section_holds(src, &h->control, 8, 0, MAX_ENTRIES) &&
	       section_holds(src, &h->slots, slot_bytes(h->classes.nr), 0,
			     KF_STATS_MAX_SLOTS) &&
	       section_holds(src, &h->tags, sizeof(struct kf_stats_tag), 0,
			     UINT32_MAX) &&
	       section_holds(src, &h->stacks, sizeof(struct kf_stats_stack), 0,
			     UINT32_MAX);
}

static bool header_holds(const struct source *src)
{
	const struct kf_stats_header *h = &src->h;

	return h->ready == 1 && h->header_size >= sizeof(*h) &&
	       h->header_size <= src->size && h->total_size >= h->header_size &&
	       h->total_size <= src->size && src->size <= KF_STATS_MAX_FILE &&
	       sections_hold(src);
}

/*
 * The file grows before its header says so: a header that names more than there
 * was before it was read, and also more than there is now, is damaged.
 */
static enum kf_read_result check_header(struct source *src,
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

static enum kf_read_result read_header(struct source *src,
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
	if (!read_piece(src, h, sizeof(*h), 0))
		return KF_READ_DAMAGED;
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

static bool read_identity(struct source *src, struct kf_snapshot *s)
{
	struct kf_stats_identity *id = &s->id;

	if (!read_piece(src, id, sizeof(*id), src->h.identity.offset))
		return false;
	kf_identity_end(id);
	return id->pid > 0;
}

/*
 * A checked section, whole; what is in @own is to be freed. NULL: no memory,
 * too much to be true.
 */
static const char *read_section(struct source *src,
				const struct kf_stats_section *sec, char **own)
{
	size_t bytes = (size_t)sec->entry_size * sec->nr;
	const char *table = in_head(src, sec->offset, bytes);

	*own = table || bytes > MAX_TABLE ? NULL : malloc(bytes + 1);
	if (table || !*own)
		return table;
	if (kf_read_at(src->fd, *own, bytes, sec->offset))
		return *own;
	free(*own);
	*own = NULL;
	return NULL;
}

/* A level below 0 is that of a damaged file. */
static uint64_t level_of(int64_t n)
{
	return n > 0 ? (uint64_t)n : 0;
}

static bool read_classes(struct source *src, struct kf_snapshot *s)
{
	const struct kf_stats_section *sec = &src->h.classes;
	char *own;
	const char *table = read_section(src, sec, &own);

	s->classes = calloc(sec->nr + 1, sizeof(*s->classes));
	if (!table || !s->classes) {
		free(own);
		return false;
	}
	s->nr_classes = sec->nr;
	s->knows_slabs = sec->entry_size >= sizeof(struct kf_stats_class);
	for (uint32_t i = 0; i < sec->nr; i++) {
		struct kf_stats_class c = {0};

		memcpy(&c, table + (size_t)i * sec->entry_size,
		       s->knows_slabs ? sizeof(c) : CLASS_MIN);
		s->classes[i].bytes = c.bytes;
		s->classes[i].inherited = c.inherited;
		s->classes[i].carved = level_of(c.carved);
		s->classes[i].slabs = level_of(c.slabs);
	}
	free(own);
	return true;
}

/* Words that belong together are read between two equal, even numbers. */
static bool read_words(struct source *src, uint64_t *words, size_t bytes)
{
	uint64_t before = 1, after;
	uint64_t offset = src->h.words.offset;

	for (int i = 0; i < MAX_SEQ_TRIES; i++) {
		if (!kf_read_at(src->fd, &before, sizeof(before), offset) ||
		    !kf_read_at(src->fd, words, bytes, offset + 8) ||
		    !kf_read_at(src->fd, &after, sizeof(after), offset))
			return false;
		if (before == after && before % 2 == 0)
			return true;
		/* The writer may wait for a processor in the midst of it. */
		if (i >= NR_SEQ_EAGER)
			usleep(100);
	}
	return true;
}

static bool read_counters(struct source *src, struct kf_snapshot *s,
			  struct kf_described *t, struct kf_desc_cache *cache)
{
	const struct kf_stats_section *sec = &src->h.descs;
	char *own;
	const char *table = read_section(src, sec, &own);
	bool ok = table && kf_descs_take(table, sec, s, t, cache);

	free(own);
	return ok;
}

static void take_thread(struct kf_snapshot *s, const struct kf_slot *slot,
			const struct kf_thread_count *sums)
{
	struct kf_thread_count *t = &s->threads[s->nr_threads];

	*t = *sums;
	t->tid = slot->tid;
	t->state = slot->state;
	memcpy(t->name, slot->name, sizeof(slot->name));
	t->name[sizeof(slot->name)] = '\0';
	s->nr_threads++;
}

static void take_slot(struct kf_snapshot *s, struct kf_described *t,
		      const struct kf_slot *slot)
{
	struct kf_thread_count sums = {0};
	const struct kf_stats_pair *pair = slot->class;

	if (slot->state == KF_SLOT_FREE)
		return;
	for (size_t i = 0; i < KF_STATS_SLOT_SCALARS; i++) {
		struct kf_counter *c = t->scalar[i];

		if (!c)
			continue;
		c->value += slot->scalar[i];
		if (c == t->large_allocated)
			sums.allocated += slot->scalar[i];
		else if (c == t->large_freed)
			sums.freed += slot->scalar[i];
	}
	for (unsigned int i = 0; i < s->nr_classes; i++) {
		s->classes[i].mallocs += pair[i].mallocs;
		s->classes[i].frees += pair[i].frees;
		sums.mallocs += pair[i].mallocs;
		sums.frees += pair[i].frees;
		sums.allocated += pair[i].mallocs * s->classes[i].bytes;
		sums.freed += pair[i].frees * s->classes[i].bytes;
	}
	take_thread(s, slot, &sums);
}

static bool is_zero(const char *p, size_t size)
{
	return !p[0] && !memcmp(p, p + 1, size - 1);
}

/* Slots that lie one after the other; most of a file are not used yet. */
static void take_slots(struct kf_snapshot *s, struct kf_described *t,
		       const char *slots, uint32_t nr, size_t size,
		       struct kf_slot *one)
{
	for (uint32_t i = 0; i < nr; i++, slots += size) {
		if (is_zero(slots, size))
			continue;
		/* an entry of odd size leaves the next unaligned */
		memcpy(one, slots, size);
		take_slot(s, t, one);
	}
}

static bool read_slots(struct source *src, struct kf_snapshot *s,
		       struct kf_described *t)
{
	const struct kf_stats_section *sec = &src->h.slots;
	size_t size = sec->entry_size;
	const char *all = in_head(src, sec->offset, (uint64_t)size * sec->nr);
	char *buf = all ? NULL : malloc(size * SLOTS_AT_ONCE + 1);
	struct kf_slot *one = aligned_alloc(64, KF_ALIGN_UP(size, (size_t)64));
	bool ok = (all || buf) && one;

	s->threads = calloc(sec->nr + 1, sizeof(*s->threads));
	ok = ok && s->threads;
	if (ok && all)
		take_slots(s, t, all, sec->nr, size, one);
	for (uint32_t i = 0; ok && !all && i < sec->nr; i += SLOTS_AT_ONCE) {
		uint32_t n = KF_MIN(sec->nr - i, (uint32_t)SLOTS_AT_ONCE);

		ok = kf_read_at(src->fd, buf, n * size,
				sec->offset + (uint64_t)i * size);
		if (ok)
			take_slots(s, t, buf, n, size, one);
	}
	free(one);
	free(buf);
	return ok;
}

/* The sequence number is the first of the words, 8 bytes each. */
static bool words_alloc(struct source *src, struct kf_described *t)
{
	const struct kf_stats_section *sec = &src->h.words;

	t->nr_words = (size_t)sec->entry_size * sec->nr / 8 - 1;
	t->words = calloc(t->nr_words + 1, sizeof(*t->words));
	t->scalar = calloc(KF_STATS_SLOT_SCALARS, sizeof(struct kf_counter *));
	return t->words && t->scalar;
}

static enum kf_read_result read_tables(struct source *src,
				       const struct kf_read_how *how,
				       struct kf_snapshot *s)
{
	struct kf_described t = {0};
	bool ok;

	errno = 0;
	ok = read_identity(src, s) && words_alloc(src, &t) &&
	     read_words(src, t.words, t.nr_words * sizeof(*t.words)) &&
	     read_classes(src, s) && read_counters(src, s, &t, how->cache) &&
	     read_slots(src, s, &t) &&
	     kf_tables_read(src->fd, &src->h, how->tables, s);
	free(t.words);
	free(t.scalar);
	if (ok)
		return KF_READ_OK;
	if (errno == ENOMEM || errno == EIO)
		return failed(s);
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

/* The cache's room, or some of its own that is to be freed. */
static char *head_room(struct kf_desc_cache *cache, char **own)
{
	*own = NULL;
	if (!cache)
		return *own = malloc(HEAD_SIZE);
	if (!cache->head)
		cache->head = malloc(HEAD_SIZE);
	return cache->head;
}

enum kf_read_result kf_snapshot_read_as(int dirfd, const char *name,
					const struct kf_read_how *how,
					struct kf_snapshot *s)
{
	struct source src = {.fd = -1};
	char *own = NULL;

	memset(s, 0, sizeof(*s));
	s->result = open_regular(dirfd, name, how->regular, s, &src.fd);
	if (s->result == KF_READ_OK) {
		read_head(&src, head_room(how->cache, &own));
		s->result = read_header(&src, s);
	}
	if (s->result == KF_READ_OK)
		s->result = read_tables(&src, how, s);
	free(own);
	if (src.fd >= 0)
		close(src.fd);
	if (s->result == KF_READ_OK)
		kf_totals_derive(s);
	return s->result;
}

void kf_snapshot_release(struct kf_snapshot *s)
{
	if (!s->lent)
		free(s->counters);
	free(s->classes);
	free(s->threads);
	free(s->tags);
	free(s->stacks);
	free(s->events);
	s->tags = NULL;
	s->stacks = NULL;
	s->events = NULL;
	s->nr_tags = s->nr_stacks = s->nr_events = 0;
	s->counters = NULL;
	s->lent = false;
	s->classes = NULL;
	s->threads = NULL;
	s->nr_counters = s->nr_classes = s->nr_threads = 0;
}

uint64_t kf_snapshot_value(const struct kf_snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < s->nr_counters; i++) {
		if (!strcmp(s->counters[i].name, name))
			return s->counters[i].value;
	}
	return 0;
}

uint64_t kf_snapshot_stat(const struct kf_snapshot *s, enum kf_stat stat)
{
	static const char *const names[KF_NR_STATS] = {
#define KF_STAT_SLOT(id, type, unit, metric, labels, help) #id,
#define KF_STAT_WORD KF_STAT_SLOT
#include "stats/stats.def"
#undef KF_STAT_WORD
#undef KF_STAT_SLOT
	};
	const char *name = names[stat];

	/* our own files have it in its place */
	if ((unsigned int)stat < s->nr_counters &&
	    !strcmp(s->counters[stat].name, name))
		return s->counters[stat].value;
	return kf_snapshot_value(s, name);
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
	};

	return result < KF_NR_READ_RESULTS ? names[result] : "error";
}
