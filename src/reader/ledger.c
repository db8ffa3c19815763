/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ledgers, read between two folds: see ledger.h.
 *
 * Folds go on meanwhile. The words @committed and @applied are read before and
 * after all the rest. If they are unchanged, only a fold that is in the journal
 * may be incomplete, and its changes are applied here.
 */
#include "reader/ledger.h"

#include "reader/internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DESCS 4096
#define MAX_BYTES (8u << 20) /* of a section; our own have less than 1 MiB */
#define MAX_NAMES 65536
#define TRIES_EAGER 20
#define MAX_TRIES 200
#define HASH_DIGITS 16

/* The words that change with each fold. */
struct words {
	uint64_t committed;
	uint64_t applied;
	uint32_t nr_rows;
};

bool kf_ledger_is_name(const char *name, uint32_t *uid)
{
	const char *p = name + strlen(KF_LEDGER_PREFIX);
	uint64_t n = 0;

	if (strncmp(name, KF_LEDGER_PREFIX, strlen(KF_LEDGER_PREFIX)) ||
	    !isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p) && n <= UINT32_MAX; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (*p++ != '.' || n > UINT32_MAX || strlen(p) != HASH_DIGITS ||
	    p[strspn(p, "0123456789abcdef")])
		return false;
	if (uid)
		*uid = (uint32_t)n;
	return true;
}

static bool ledger_section_holds(const struct kf_stats_section *sec,
				 size_t entry_min, uint32_t nr_min,
				 uint32_t nr_max)
{
	return sec->nr >= nr_min && sec->nr <= nr_max &&
	       sec->entry_size >= entry_min && sec->entry_size <= 65536 &&
	       (uint64_t)sec->nr * sec->entry_size <= MAX_BYTES &&
	       sec->offset >= sizeof(struct kf_ledger_header) &&
	       sec->offset % 8 == 0;
}

static enum kf_read_result ledger_check(const struct kf_ledger_header *h,
					uint32_t uid)
{
	if (h->magic != KF_LEDGER_MAGIC)
		return h->magic ? KF_READ_FOREIGN : KF_READ_NOT_READY;
	if (h->major != KF_LEDGER_MAJOR)
		return KF_READ_INCOMPATIBLE;
	if (h->ready != 1)
		return KF_READ_NOT_READY;
	if (h->uid == uid &&
	    ledger_section_holds(&h->journal, sizeof(struct kf_ledger_journal),
				 1, 1) &&
	    ledger_section_holds(&h->descs, sizeof(struct kf_stats_desc), 0,
				 MAX_DESCS) &&
	    ledger_section_holds(&h->classes, sizeof(uint64_t), 0,
				 KF_STATS_NR_CLASSES) &&
	    ledger_section_holds(&h->folds, sizeof(struct kf_ledger_fold),
				 KF_LEDGER_FOLDS, KF_LEDGER_FOLDS) &&
	    ledger_section_holds(&h->rows, sizeof(struct kf_ledger_row), 1,
				 MAX_DESCS))
		return KF_READ_OK;
	return KF_READ_DAMAGED;
}

/*
 * Reads the entries of a section, each cut to the size that this version knows.
 */
static bool read_entries(int fd, const struct kf_stats_section *sec,
			 uint32_t nr, void *to, size_t size)
{
	size_t bytes = (size_t)sec->entry_size * nr;
	char *raw = malloc(bytes + 1);
	bool ok = raw && kf_read_at(fd, raw, bytes, sec->offset);

	for (uint32_t i = 0; ok && i < nr; i++)
		memcpy((char *)to + i * size, raw + (size_t)i * sec->entry_size,
		       size);
	free(raw);
	return ok;
}

static bool ledger_read_words(int fd, struct words *w)
{
	struct kf_ledger_header h;

	if (!kf_read_at(fd, &h, sizeof(h), 0))
		return false;
	*w = (struct words){h.committed, h.applied, h.nr_rows};
	return true;
}

static bool words_are_same(const struct words *a, const struct words *b)
{
	return a->committed == b->committed && a->applied == b->applied &&
	       a->nr_rows == b->nr_rows;
}

/* Reads the rows; @l->rows has room for the largest number. */
static bool read_changing(int fd, const struct kf_ledger_header *h,
			  const struct words *w, struct kf_ledger *l,
			  struct kf_ledger_journal *j)
{
	l->nr_rows = KF_MIN(w->nr_rows, h->rows.nr);
	return read_entries(fd, &h->journal, 1, j, sizeof(*j)) &&
	       read_entries(fd, &h->folds, KF_LEDGER_FOLDS, l->folds,
			    sizeof(*l->folds)) &&
	       read_entries(fd, &h->rows, l->nr_rows, l->rows,
			    sizeof(*l->rows));
}

/* Applies a fold that was committed but not finished. */
static bool finish_fold(const struct kf_ledger_header *h, struct kf_ledger *l,
			const struct kf_ledger_journal *j)
{
	uint32_t row = j->fold.row;

	if (j->fold.number != l->nr_folds || row >= h->rows.nr ||
	    row > KF_MAX(l->nr_rows, 1u))
		return false;
	l->rows[row] = j->row;
	l->nr_rows = KF_MAX(l->nr_rows, row + 1);
	l->folds[j->fold.number % KF_LEDGER_FOLDS] = j->fold;
	return true;
}

static void end_strings(struct kf_ledger *l)
{
	for (unsigned int i = 0; i < l->nr_rows; i++) {
		struct kf_ledger_key *key = &l->rows[i].key;

		key->comm[sizeof(key->comm) - 1] = '\0';
		key->name[sizeof(key->name) - 1] = '\0';
		key->exe[sizeof(key->exe) - 1] = '\0';
		key->cmdline[sizeof(key->cmdline) - 1] = '\0';
		key->cgroup[sizeof(key->cgroup) - 1] = '\0';
	}
}

static enum kf_read_result ledger_fail(struct kf_ledger *l)
{
	l->error = errno ? errno : EIO;
	return KF_READ_ERROR;
}

static enum kf_read_result read_moment(int fd, const struct kf_ledger_header *h,
				       struct kf_ledger *l)
{
	struct kf_ledger_journal j;
	struct words before, after;

	for (int i = 0; i < MAX_TRIES; i++) {
		if (i >= TRIES_EAGER)
			usleep(100);
		errno = 0;
		if (!ledger_read_words(fd, &before) ||
		    !read_changing(fd, h, &before, l, &j) ||
		    !ledger_read_words(fd, &after))
			return errno ? ledger_fail(l) : KF_READ_DAMAGED;
		if (!words_are_same(&before, &after))
			continue;
		l->nr_folds = before.committed;
		end_strings(l);
		if (before.committed == before.applied)
			return KF_READ_OK;
		if (before.committed != before.applied + 1 ||
		    !finish_fold(h, l, &j))
			return KF_READ_DAMAGED;
		end_strings(l);
		return KF_READ_OK;
	}
	return KF_READ_NOT_READY;
}

static enum kf_read_result read_open(int fd, uint32_t uid, struct kf_ledger *l)
{
	struct kf_ledger_header h;
	enum kf_read_result r;

	errno = 0;
	if (!kf_read_at(fd, &h, sizeof(h), 0))
		return errno ? ledger_fail(l) : KF_READ_NOT_READY;
	r = ledger_check(&h, uid);
	if (r != KF_READ_OK)
		return r;
	l->uid = uid;
	l->nr_descs = h.descs.nr;
	l->nr_classes = h.classes.nr;
	l->descs = calloc((size_t)h.descs.nr + 1, sizeof(*l->descs));
	l->folds = calloc(KF_LEDGER_FOLDS, sizeof(*l->folds));
	l->rows = aligned_alloc(64, ((size_t)h.rows.nr + 1) * sizeof(*l->rows));
	l->cache = calloc(1, sizeof(*l->cache));
	if (!l->descs || !l->folds || !l->rows || !l->cache)
		return ledger_fail(l);
	memset(l->rows, 0, ((size_t)h.rows.nr + 1) * sizeof(*l->rows));
	l->cache->room.lend = true;
	if (!read_entries(fd, &h.descs, h.descs.nr, l->descs,
			  sizeof(*l->descs)) ||
	    !read_entries(fd, &h.classes, h.classes.nr, l->class_bytes,
			  sizeof(l->class_bytes[0])))
		return errno ? ledger_fail(l) : KF_READ_DAMAGED;
	return read_moment(fd, &h, l);
}

enum kf_read_result kf_ledger_read(int dirfd, const char *name,
				   struct kf_ledger *l)
{
	struct stat st;
	uint32_t uid;
	int fd;

	memset(l, 0, sizeof(*l));
	l->result = KF_READ_FOREIGN;
	if (!kf_ledger_is_name(name, &uid))
		return l->result;
	fd = openat(dirfd, name,
		    O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		if (errno != ELOOP)
			l->result = ledger_fail(l);
		return l->result;
	}
	if (fstat(fd, &st)) {
		l->result = ledger_fail(l);
	} else if (S_ISREG(st.st_mode) && st.st_uid == uid) {
		l->dev = st.st_dev;
		l->ino = st.st_ino;
		l->result = read_open(fd, uid, l);
	}
	close(fd);
	return l->result;
}

void kf_ledger_release(struct kf_ledger *l)
{
	free(l->descs);
	free(l->folds);
	free(l->rows);
	/* the cache owns all of the snapshot but the classes */
	free(l->snap.classes);
	if (l->cache)
		kf_desc_cache_release(l->cache);
	free(l->cache);
	*l = (struct kf_ledger){.result = l->result, .error = l->error};
}

static void ledger_take_key(struct kf_snapshot *s,
			    const struct kf_ledger_key *key, uint32_t uid)
{
	struct kf_stats_identity *id = &s->id;

	id->uid = uid;
	memcpy(id->comm, key->comm, sizeof(id->comm));
	memcpy(id->name, key->name, sizeof(id->name));
	memcpy(id->exe, key->exe, sizeof(id->exe));
	memcpy(s->ending.cmdline, key->cmdline, sizeof(key->cmdline));
	memcpy(s->ending.cgroup, key->cgroup, sizeof(key->cgroup));
}

/* Blocks inherited by forked children are in no class here: use any class. */
static void ledger_take_classes(const struct kf_ledger *l,
				const struct kf_ledger_row *row,
				struct kf_snapshot *s)
{
	s->nr_classes = l->nr_classes;
	for (unsigned int i = 0; i < s->nr_classes; i++)
		s->classes[i] = (struct kf_class_count){
			.bytes = l->class_bytes[i],
			.mallocs = row->class[i].mallocs,
			.frees = row->class[i].frees,
		};
	if (s->nr_classes)
		s->classes[0].inherited =
			(int64_t)kf_snapshot_value(s, "inherited");
}

const struct kf_snapshot *kf_ledger_row(struct kf_ledger *l, unsigned int row)
{
	const struct kf_ledger_row *r = &l->rows[row];
	struct kf_stats_section sec = {
		.entry_size = sizeof(struct kf_stats_desc),
		.nr = l->nr_descs,
	};
	struct kf_described t = {.nr_words = KF_LEDGER_VALUES};
	struct kf_snapshot *s = &l->snap;
	uint64_t values[KF_LEDGER_VALUES];
	struct kf_class_count *classes = s->classes;

	if (row >= l->nr_rows || !r->key_hash)
		return NULL;
	if (!classes)
		classes = calloc(KF_STATS_NR_CLASSES, sizeof(*classes));
	memset(s, 0, sizeof(*s));
	s->classes = classes;
	memcpy(values, r->value, sizeof(values));
	t.words = values;
	s->lent = true;
	if (!classes ||
	    !kf_descs_take((const char *)l->descs, &sec, s, &t, l->cache))
		return NULL;
	ledger_take_key(s, &r->key, l->uid);
	ledger_take_classes(l, r, s);
	kf_totals_derive(s);
	return s;
}

const struct kf_ledger_fold *
kf_ledger_fold_of(const struct kf_ledger *l, const struct kf_stats_identity *id)
{
	for (unsigned int i = 0; i < KF_LEDGER_FOLDS; i++) {
		const struct kf_ledger_fold *f = &l->folds[i];

		if (f->number && f->created_ns == id->created_ns &&
		    f->pid == id->pid)
			return f;
	}
	return NULL;
}

static unsigned int row_of_key(const struct kf_ledger *l,
			       const struct kf_ledger_key *key)
{
	uint64_t hash = kf_ledger_hash(key);

	for (unsigned int i = 1; i < l->nr_rows; i++) {
		if (l->rows[i].key_hash == hash &&
		    !memcmp(&l->rows[i].key, key, sizeof(*key)))
			return i;
	}
	return 0;
}

unsigned int kf_ledger_row_of(const struct kf_ledger *l,
			      const struct kf_stats_identity *id,
			      const struct kf_stats_ending *ending)
{
	struct kf_ledger_key key;
	unsigned int row;

	kf_ledger_key_of(&key, id, ending);
	row = row_of_key(l, &key);
	if (row)
		return row;
	memset(key.cmdline, 0, sizeof(key.cmdline));
	return row_of_key(l, &key);
}

int kf_ledgers_visit(int dirfd, kf_ledger_visit_fn *visit, void *ctx)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned int nr = 0;
	struct dirent *de;
	int rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (!rc && nr++ < MAX_NAMES && (de = readdir(dir))) {
		if (kf_ledger_is_name(de->d_name, NULL))
			rc = visit(ctx, de->d_name);
	}
	closedir(dir);
	return rc;
}
