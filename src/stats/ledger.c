/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ledger's writer: see ledger.h, and the rules in ledger-layout.h.
 *
 * All writes are pwrite(2), as a truncated file has no SIGBUS then. The order
 * of the writes makes a fold happen exactly once: a fold is not made before the
 * word @committed is written, and is made from then on, as the next writer
 * repeats the rest.
 *
 * The lock is a record lock: it needs write permission, so no reader can block
 * writers, and a child does not inherit it.
 */
#include "config.h"

#include "stats/ledger.h"

#include "base/bits.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	AT_JOURNAL = 4096,
	AT_DESCS =
		KF_ALIGN_UP(AT_JOURNAL + sizeof(struct kf_ledger_journal), 64),
	AT_CLASSES = AT_DESCS + KF_LEDGER_VALUES * sizeof(struct kf_stats_desc),
	AT_KEYS = KF_ALIGN_UP(
		AT_CLASSES + KF_STATS_NR_CLASSES * sizeof(uint64_t), 64),
	AT_FOLDS = AT_KEYS + KF_LEDGER_ROWS * sizeof(struct kf_ledger_index),
	AT_ROWS = AT_FOLDS + KF_LEDGER_FOLDS * sizeof(struct kf_ledger_fold),
	AT_FILES = KF_MIB,
	END = AT_FILES + KF_LEDGER_FILES * sizeof(struct kf_ledger_file),
};

_Static_assert(AT_ROWS + KF_LEDGER_ROWS * sizeof(struct kf_ledger_row) <=
		       AT_FILES,
	       "rows end before the files begin");

/* The rows of a ledger take at most this share of a file system. */
#define ROWS_SHARE 64
#define FEWEST_ROWS 8

/* Pauses of 50 us while another process has the lock. */
#define MAX_TRIES 400

#define NAME_SIZE (sizeof(KF_LEDGER_PREFIX) + 10 + 1 + 16)

/* Buffers of the one thread that has a ledger open. */
static struct kf_ledger_journal journal;
static union {
	struct kf_ledger_index index[KF_LEDGER_ROWS];
	struct kf_ledger_fold fold[KF_LEDGER_FOLDS / 4];
} piece;

static bool is_counter(const struct kf_stats_desc *d)
{
	return d->type == KF_TYPE_COUNTER;
}

uint32_t kf_ledger_inherited(const struct kf_ledger_described *d)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < d->nr; i++)
		nr += is_counter(&d->desc[i]);
	return KF_MIN(nr, (uint32_t)KF_LEDGER_VALUES - 1);
}

void kf_ledger_values(const struct kf_ledger_described *d,
		      enum kf_stats_scope scope, const uint64_t *word,
		      uint32_t nr, struct kf_ledger_row *row)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < d->nr; i++) {
		const struct kf_stats_desc *desc = &d->desc[i];

		if (!is_counter(desc))
			continue;
		if (desc->scope == scope && desc->index < nr)
			row->value[value] +=
				kf_counter_read(&word[desc->index]);
		value++;
	}
}

/* Names and sizes count, not help texts: these may be reworded. */
static uint64_t ledger_hash_of(const struct kf_ledger_described *d)
{
	static const uint16_t version[] = {KF_LEDGER_MAJOR, KF_LEDGER_MINOR};
	uint64_t h =
		kf_ledger_hash_more(KF_LEDGER_HASH, version, sizeof(version));

	for (uint32_t i = 0; i < d->nr; i++) {
		if (is_counter(&d->desc[i]))
			h = kf_ledger_hash_more(h, d->desc[i].name,
						sizeof(d->desc[i].name));
	}
	return kf_ledger_hash_more(h, d->class_bytes,
				   KF_STATS_NR_CLASSES * sizeof(uint64_t));
}

static void make_name(char *name, uint32_t uid, uint64_t hash)
{
	struct kf_text text;

	kf_text_init(&text, name, NAME_SIZE);
	kf_text_add(&text, KF_LEDGER_PREFIX "%u.%016lx", uid, hash);
}

static struct kf_stats_section ledger_section(uint32_t offset,
					      size_t entry_size, uint32_t nr)
{
	return (struct kf_stats_section){offset, (uint32_t)entry_size, nr, 0};
}

static void ledger_fill(struct kf_ledger_header *h, uint32_t uid, uint64_t hash,
			const struct kf_ledger_described *d, uint32_t nr_rows)
{
	memset(h, 0, sizeof(*h));
	h->magic = KF_LEDGER_MAGIC;
	h->major = KF_LEDGER_MAJOR;
	h->minor = KF_LEDGER_MINOR;
	h->header_size = sizeof(*h);
	h->described = hash;
	h->uid = uid;
	h->ready = 1;
	h->journal =
		ledger_section(AT_JOURNAL, sizeof(struct kf_ledger_journal), 1);
	h->descs = ledger_section(AT_DESCS, sizeof(struct kf_stats_desc),
				  kf_ledger_inherited(d) + 1);
	h->classes = ledger_section(AT_CLASSES, sizeof(uint64_t),
				    KF_STATS_NR_CLASSES);
	h->keys = ledger_section(AT_KEYS, sizeof(struct kf_ledger_index),
				 nr_rows);
	h->folds = ledger_section(AT_FOLDS, sizeof(struct kf_ledger_fold),
				  KF_LEDGER_FOLDS);
	h->rows =
		ledger_section(AT_ROWS, sizeof(struct kf_ledger_row), nr_rows);
	h->files = ledger_section(AT_FILES, sizeof(struct kf_ledger_file),
				  KF_LEDGER_FILES);
}

static int write_desc(int fd, const struct kf_stats_desc *from, uint32_t value)
{
	struct kf_stats_desc desc = *from;

	desc.scope = KF_SCOPE_WORD;
	desc.index = value;
	return kf_file_write(fd, &desc, sizeof(desc),
			     AT_DESCS + value * sizeof(desc));
}

static int write_descs(int fd, const struct kf_ledger_described *d)
{
	static const struct kf_stats_desc inherited = {
		.name = "inherited",
		.help = "blocks that forked children found live",
		.type = KF_TYPE_COUNTER,
	};
	uint32_t value = 0;
	int r = 0;

	for (uint32_t i = 0; !r && i < d->nr; i++) {
		if (is_counter(&d->desc[i]))
			r = write_desc(fd, &d->desc[i], value++);
	}
	return r ? r : write_desc(fd, &inherited, value);
}

/* The header is written last: a file without magic is made anew. */
static int ledger_make(int fd, const struct kf_ledger_header *h,
		       const struct kf_ledger_described *d)
{
	int r;

	kf_file_truncate(fd, 0);
	r = kf_file_extend(fd, 0, AT_ROWS);
	/* The last note exists from the start, so that all can be read. */
	if (!r)
		r = kf_file_extend(fd, END - sizeof(struct kf_ledger_file),
				   END);
	if (!r)
		r = write_descs(fd, d);
	if (!r)
		r = kf_file_write(fd, d->class_bytes,
				  KF_STATS_NR_CLASSES * sizeof(uint64_t),
				  AT_CLASSES);
	if (!r)
		r = kf_file_write(fd, h, sizeof(*h), 0);
	if (r)
		kf_file_truncate(fd, 0);
	return r;
}

/* The most rows of a ledger on this file system; 0: it is too small. */
static uint32_t rows_of(int fd)
{
	uint64_t total, available, nr;

	if (kf_file_space(fd, &total, &available))
		return KF_LEDGER_ROWS;
	if (total / ROWS_SHARE < AT_ROWS || available < total / ROWS_SHARE)
		return 0;
	nr = total / ROWS_SHARE / sizeof(struct kf_ledger_row);
	nr = KF_MAX(nr, (uint64_t)FEWEST_ROWS);
	return (uint32_t)KF_MIN(nr, (uint64_t)KF_LEDGER_ROWS);
}

static bool ledger_is_plain(const struct kf_file_stat *st, uint32_t uid)
{
	return S_ISREG(st->mode) && st->uid == uid &&
	       !(st->mode & (S_IWGRP | S_IWOTH));
}

/* All must agree but the number of rows, which depends on the file system. */
static bool is_like(const struct kf_ledger_header *h,
		    const struct kf_ledger_header *wanted)
{
	return !memcmp(h, wanted, offsetof(struct kf_ledger_header, keys)) &&
	       !memcmp(&h->folds, &wanted->folds, sizeof(h->folds)) &&
	       !memcmp(&h->files, &wanted->files, sizeof(h->files)) &&
	       h->rows.offset == wanted->rows.offset &&
	       h->rows.entry_size == wanted->rows.entry_size && h->rows.nr &&
	       h->rows.nr <= KF_LEDGER_ROWS && h->nr_rows <= h->rows.nr &&
	       (h->committed == h->applied || h->committed == h->applied + 1);
}

static int read_head(struct kf_ledger_writer *w, uint32_t uid, uint64_t hash,
		     const struct kf_ledger_described *d,
		     struct kf_ledger_header *h)
{
	struct kf_ledger_header wanted;
	struct kf_file_stat st;
	int r = kf_file_stat(w->fd, &st);

	if (r)
		return r;
	if (!ledger_is_plain(&st, uid))
		return -EPERM;
	/* removed while this process waited for the lock */
	if (!st.nr_links)
		return -EAGAIN;
	ledger_fill(&wanted, uid, hash, d, KF_LEDGER_ROWS);
	memset(h, 0, sizeof(*h));
	if (st.size >= sizeof(*h) && !kf_file_read_at(w->fd, h, sizeof(*h), 0))
		return -EIO;
	if (!h->magic) {
		ledger_fill(h, uid, hash, d, rows_of(w->fd));
		return h->rows.nr ? ledger_make(w->fd, h, d) : -ENOSPC;
	}
	return is_like(h, &wanted) ? 0 : -EINVAL;
}

static int lock(int fd)
{
	int r = kf_file_lock(fd);

	for (int i = 0; i < MAX_TRIES && (r == -EAGAIN || r == -EACCES); i++) {
		kf_process_pause();
		r = kf_file_lock(fd);
	}
	return r == -EACCES ? -EAGAIN : r;
}

static int write_word(const struct kf_ledger_writer *w, size_t at, uint64_t n,
		      size_t bytes)
{
	return kf_file_write(w->fd, &n, bytes, at);
}

/* Write the fold's number to the stats file. On failure the folds have it. */
static int mark_folded(int dirfd, const struct kf_ledger_journal *j)
{
	struct kf_stats_header h;
	struct kf_file_stat st;
	uint64_t number = j->fold.number;
	int fd = kf_file_open(dirfd, j->name, O_RDWR | O_NOFOLLOW, 0);
	int r = fd < 0 ? fd : kf_file_stat(fd, &st);

	if (!r && st.dev == j->dev && st.ino == j->ino &&
	    kf_file_read_at(fd, &h, sizeof(h), 0) &&
	    h.magic == KF_STATS_MAGIC && h.minor >= 5 && h.ending.nr == 1 &&
	    h.ending.offset < st.size)
		r = kf_file_write(fd, &number, sizeof(number), h.ending.offset);
	if (fd >= 0)
		kf_file_close(fd);
	return r;
}

/* A new row needs its entry in the keys, and is counted. */
static int ledger_show_row(struct kf_ledger_writer *w, uint32_t row)
{
	struct kf_ledger_key program = journal.row.key;
	struct kf_ledger_index index = {.key_hash = journal.row.key_hash};
	int r;

	if (row && row < w->nr_rows)
		return 0;
	memset(program.cmdline, 0, sizeof(program.cmdline));
	index.program_hash = kf_ledger_hash(&program);
	r = kf_file_write(w->fd, &index, sizeof(index),
			  AT_KEYS + row * sizeof(index));
	w->nr_rows = KF_MAX(w->nr_rows, row + 1);
	return r ? r
		 : write_word(w, offsetof(struct kf_ledger_header, nr_rows),
			      w->nr_rows, sizeof(uint32_t));
}

/* The steps of rule 2 behind the commit. */
static int ledger_apply(struct kf_ledger_writer *w)
{
	const struct kf_ledger_journal *j = &journal;
	uint32_t row = j->fold.row;
	int r;

	r = kf_file_write(w->fd, &j->row, sizeof(j->row),
			  AT_ROWS + row * sizeof(j->row));
	if (!r)
		r = kf_file_write(w->fd, &j->fold, sizeof(j->fold),
				  AT_FOLDS + j->fold.number % KF_LEDGER_FOLDS *
						     sizeof(j->fold));
	if (!r)
		r = ledger_show_row(w, row);
	if (r)
		return r;
	if (j->dev && j->keep)
		r = mark_folded(w->dirfd, j);
	else if (j->dev)
		kf_file_unlink_same(w->dirfd, j->name, j->dev, j->ino);
	w->committed = j->fold.number;
	return write_word(w, offsetof(struct kf_ledger_header, applied),
			  j->fold.number, sizeof(uint64_t));
}

/* Finish the fold of a writer that was interrupted, if there is one. */
static int ledger_recover(struct kf_ledger_writer *w,
			  const struct kf_ledger_header *h)
{
	w->committed = h->committed;
	w->nr_rows = h->nr_rows;
	w->max_rows = h->rows.nr;
	if (h->committed == h->applied)
		return 0;
	if (!kf_file_read_at(w->fd, &journal, sizeof(journal), AT_JOURNAL) ||
	    journal.fold.number != h->committed ||
	    journal.fold.row >= h->rows.nr ||
	    journal.fold.row > KF_MAX(h->nr_rows, 1u))
		return -EINVAL;
	journal.name[sizeof(journal.name) - 1] = '\0';
	return ledger_apply(w);
}

int kf_ledger_open(struct kf_ledger_writer *w, int dirfd, uint32_t uid,
		   const struct kf_ledger_described *d, bool make)
{
	struct kf_ledger_header h;
	struct kf_file_stat st;
	char name[NAME_SIZE];
	uint64_t hash;
	int r;

	/* Above RLIMIT_FSIZE the kernel would send a signal. */
	if (!kf_file_is_allowed(END))
		return -EFBIG;
	hash = ledger_hash_of(d);
	make_name(name, uid, hash);
	w->max_rows = 0;
	w->dirfd = dirfd;
	w->fd = kf_file_open(dirfd, name,
			     O_RDWR | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
	if (w->fd < 0)
		return w->fd == -ELOOP || w->fd == -EACCES ? -EPERM : w->fd;
	r = lock(w->fd);
	if (!r)
		r = read_head(w, uid, hash, d, &h);
	if (!r)
		r = ledger_recover(w, &h);
	/* In a set-group-id directory the group may read, as in backing.c. */
	if (!r && make && !h.committed && !kf_file_stat(dirfd, &st) &&
	    st.mode & S_ISGID)
		kf_file_chmod(w->fd, 0640);
	/* Remove a useless ledger of the user: the next process makes a new
	 * one. */
	if ((r == -EINVAL || (r == -ENOSPC && !w->max_rows)) && make &&
	    uid == kf_process_uid())
		kf_file_unlink(dirfd, name);
	if (r)
		kf_ledger_close(w);
	return r;
}

void kf_ledger_close(struct kf_ledger_writer *w)
{
	kf_file_close(w->fd);
	w->fd = -1;
}

static bool is_in_piece(const struct kf_ledger_target *t)
{
	for (uint32_t i = 0; i < KF_ARRAY_SIZE(piece.fold); i++) {
		const struct kf_ledger_fold *f = &piece.fold[i];

		if (f->number && f->created_ns == t->created_ns &&
		    f->pid == t->pid)
			return true;
	}
	return false;
}

static bool was_folded(const struct kf_ledger_writer *w,
		       const struct kf_ledger_target *t)
{
	const uint32_t nr = KF_ARRAY_SIZE(piece.fold);

	for (uint32_t i = 0; t->name && !t->own && i < KF_LEDGER_FOLDS;
	     i += nr) {
		if (!kf_file_read_at(w->fd, piece.fold, sizeof(piece.fold),
				     AT_FOLDS + i * sizeof(piece.fold[0])) ||
		    is_in_piece(t))
			return true;
	}
	return false;
}

static bool row_is(const struct kf_ledger_writer *w, uint32_t row,
		   const struct kf_ledger_key *key)
{
	return kf_file_read_at(w->fd, &journal.row, sizeof(journal.row),
			       AT_ROWS + row * sizeof(journal.row)) &&
	       !memcmp(&journal.row.key, key, sizeof(*key));
}

/*
 * Find the row of a key and read it into the journal; row 0 has no key. Returns
 * the row; UINT32_MAX: the key has none. @others: out: rows of the same program
 * with command lines.
 */
static uint32_t find_row(const struct kf_ledger_writer *w,
			 const struct kf_ledger_key *key, uint32_t *others)
{
	struct kf_ledger_key program = *key;
	uint64_t hash = kf_ledger_hash(key);
	uint64_t program_hash;

	memset(program.cmdline, 0, sizeof(program.cmdline));
	program_hash = kf_ledger_hash(&program);
	*others = 0;
	for (uint32_t i = 1; i < w->nr_rows; i++) {
		if (piece.index[i].key_hash == hash && row_is(w, i, key))
			return i;
		if (piece.index[i].program_hash == program_hash &&
		    piece.index[i].key_hash != program_hash)
			++*others;
	}
	return UINT32_MAX;
}

static uint32_t take_row(const struct kf_ledger_writer *w,
			 struct kf_ledger_key *key)
{
	uint32_t others, row = find_row(w, key, &others);
	uint32_t next = KF_MAX(w->nr_rows, 1u);

	if (row == UINT32_MAX && key->cmdline[0] &&
	    (others >= KF_LEDGER_CMDLINES || next >= w->max_rows)) {
		memset(key->cmdline, 0, sizeof(key->cmdline));
		row = find_row(w, key, &others);
	}
	if (row != UINT32_MAX)
		return row;
	memset(&journal.row, 0, sizeof(journal.row));
	/* Space is allocated before the commit. */
	if (next < w->max_rows &&
	    !kf_file_extend(w->fd, AT_ROWS + next * sizeof(journal.row),
			    AT_ROWS + (next + 1) * sizeof(journal.row)))
		return next;
	memset(key, 0, sizeof(*key));
	if (!row_is(w, 0, key))
		memset(&journal.row, 0, sizeof(journal.row));
	return 0;
}

static void ledger_add_up(struct kf_ledger_row *to,
			  const struct kf_ledger_row *add,
			  const struct kf_ledger_key *key,
			  enum kf_ledger_reason why)
{
	uint64_t now = kf_process_clock_ns(CLOCK_REALTIME);

	to->key = *key;
	to->key_hash = kf_ledger_hash(key);
	to->exits += why == KF_LEDGER_EXIT;
	to->execs += why == KF_LEDGER_EXEC;
	to->last_ns = now;
	if (!to->first_ns)
		to->first_ns = now;
	for (uint32_t i = 0; i < KF_LEDGER_VALUES; i++)
		to->value[i] += add->value[i];
	for (uint32_t i = 0; i < KF_STATS_NR_CLASSES; i++) {
		to->class[i].mallocs += add->class[i].mallocs;
		to->class[i].frees += add->class[i].frees;
	}
}

/* The journal's part about the stats file, which is marked or removed. */
static void journal_set_target(struct kf_ledger_journal *j,
			       const struct kf_ledger_target *t)
{
	struct kf_text text;

	memset(j->name, 0, sizeof(j->name));
	kf_text_init(&text, j->name, sizeof(j->name));
	kf_text_str(&text, t->name ? t->name : "");
	j->dev = t->name && !kf_text_full(&text) ? t->dev : 0;
	j->ino = t->ino;
	j->keep = t->keep;
}

int kf_ledger_fold(struct kf_ledger_writer *w, const struct kf_ledger_row *add,
		   const struct kf_ledger_target *t)
{
	struct kf_ledger_key key = add->key;
	struct kf_ledger_journal *j = &journal;
	uint32_t row;
	int r;

	if (was_folded(w, t))
		return 0;
	if (w->nr_rows &&
	    !kf_file_read_at(w->fd, piece.index,
			     w->nr_rows * sizeof(piece.index[0]), AT_KEYS))
		return -EIO;
	row = take_row(w, &key);
	ledger_add_up(&j->row, add, &key, t->reason);
	j->fold = (struct kf_ledger_fold){
		.number = w->committed + 1,
		.created_ns = t->created_ns,
		.pid = t->pid,
		.row = row,
		.reason = t->reason,
	};
	journal_set_target(j, t);
	if (!row) {
		/* no space was allocated for row 0 yet */
		r = kf_file_extend(w->fd, AT_ROWS, AT_ROWS + sizeof(j->row));
		if (r)
			return r;
	}
	r = kf_file_write(w->fd, j, sizeof(*j), AT_JOURNAL);
	if (!r)
		r = write_word(w, offsetof(struct kf_ledger_header, committed),
			       j->fold.number, sizeof(uint64_t));
	return r ? r : ledger_apply(w);
}

void kf_ledger_files(const struct kf_ledger_writer *w, uint32_t from,
		     struct kf_ledger_file *file, uint32_t nr)
{
	if (!kf_file_read_at(w->fd, file, nr * sizeof(*file),
			     AT_FILES + from * sizeof(*file)))
		memset(file, 0, nr * sizeof(*file));
}

bool kf_ledger_set_file(const struct kf_ledger_writer *w, uint32_t i,
			const struct kf_ledger_file *file)
{
	return !kf_file_write(w->fd, file, sizeof(*file),
			      AT_FILES + i * sizeof(*file));
}
