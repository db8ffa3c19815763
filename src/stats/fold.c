/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counters that are added to a ledger: those of this process when it ends
 * well, and those in the stats file of a killed process.
 *
 * A stats file is read only if its counters and classes are those of this
 * library, byte for byte; a process with the other library folds other files.
 */
#include "config.h"

#include "stats/internal.h"

#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Buffers, guarded by the right of growth. */
static struct kf_ledger_row sum;
static struct kf_slot one_slot;
static char piece[4096] __kf_aligned(8);

_Static_assert(sizeof(piece) >=
		       KF_STATS_NR_CLASSES * sizeof(struct kf_stats_class),
	       "one read has all classes");

const struct kf_ledger_described *kf_fold_described(void)
{
	static struct kf_ledger_described d;
	size_t bytes;

	d.desc = kf_image_descs(&bytes);
	d.nr = (uint32_t)(bytes / sizeof(*d.desc));
	d.class_bytes = kf_stats.class_bytes;
	return &d;
}

static void add_slot(const struct kf_slot *slot)
{
	if (kf_load(&slot->state) == KF_SLOT_FREE)
		return;
	kf_ledger_values(kf_fold_described(), KF_SCOPE_SLOT, slot->scalar,
			 KF_STATS_SLOT_SCALARS, &sum);
	for (uint32_t i = 0; i < KF_STATS_NR_CLASSES; i++) {
		sum.class[i].mallocs +=
			kf_counter_read(&slot->class[i].mallocs);
		sum.class[i].frees += kf_counter_read(&slot->class[i].frees);
	}
}

static void add_inherited(const struct kf_stats_class *class)
{
	uint32_t value = kf_ledger_inherited(kf_fold_described());

	for (uint32_t i = 0; i < KF_STATS_NR_CLASSES; i++)
		sum.value[value] += (uint64_t) class[i].inherited;
}

const struct kf_ledger_row *kf_fold_memory(void)
{
	size_t nr = kf_load_acquire(&kf_stats.nr_slots);
	uint32_t nr_more;
	const struct kf_slot *more = kf_stats_area(KF_AREA_SLOTS, &nr_more);

	memset(&sum, 0, sizeof(sum));
	kf_ledger_key_of(&sum.key, kf_stats_self(),
			 (const void *)(kf_stats.base + KF_AT_ENDING));
	for (size_t i = 0; i < nr; i++)
		add_slot(kf_image_slot(kf_stats.base, i));
	for (uint32_t i = 0; i < nr_more; i++)
		add_slot(&more[i]);
	kf_ledger_values(kf_fold_described(), KF_SCOPE_WORD,
			 kf_stats_words->word, KF_NR_WORD_STATS, &sum);
	add_inherited(kf_stats_classes);
	return &sum;
}

static bool has_slots(const struct kf_stats_section *s,
		      const struct kf_stats_section *mine, uint32_t nr,
		      uint64_t size)
{
	return s->offset == mine->offset && s->entry_size == mine->entry_size &&
	       s->nr <= nr &&
	       (!s->nr ||
		s->offset + s->nr * (uint64_t)sizeof(one_slot) <= size);
}

/* Whether all sections are where this library puts them. */
static bool is_like_ours(const struct kf_stats_header *h, uint64_t size)
{
	const struct kf_stats_header *me = (const void *)kf_stats.base;

	return h->minor == me->minor && h->ready == 1 &&
	       !memcmp(&h->identity, &me->identity, sizeof(h->identity)) &&
	       !memcmp(&h->ending, &me->ending, sizeof(h->ending)) &&
	       !memcmp(&h->descs, &me->descs, sizeof(h->descs)) &&
	       !memcmp(&h->classes, &me->classes, sizeof(h->classes)) &&
	       !memcmp(&h->words, &me->words, sizeof(h->words)) &&
	       has_slots(&h->slots, &me->slots, KF_STATS_MAX_SLOTS, size) &&
	       has_slots(&h->more, &me->more, KF_STATS_MAX_MORE, size);
}

static bool has_our_descs(int fd)
{
	size_t bytes, n;
	const char *descs = (const char *)kf_image_descs(&bytes);

	for (size_t at = 0; at < bytes; at += n) {
		n = KF_MIN(bytes - at, sizeof(piece));
		if (!kf_file_read_at(fd, piece, n, KF_AT_DESCS + at) ||
		    memcmp(piece, descs + at, n))
			return false;
	}
	return true;
}

static bool add_classes(int fd)
{
	const struct kf_stats_class *class = (const void *)piece;

	if (!kf_file_read_at(fd, piece, KF_STATS_NR_CLASSES * sizeof(*class),
			     KF_AT_CLASSES))
		return false;
	for (uint32_t i = 0; i < KF_STATS_NR_CLASSES; i++) {
		if (class[i].bytes != kf_stats.class_bytes[i])
			return false;
	}
	add_inherited(class);
	return true;
}

static bool add_words(int fd)
{
	uint64_t word[KF_NR_WORD_STATS];

	if (!kf_file_read_at(fd, word, sizeof(word),
			     KF_AT_WORDS + sizeof(struct kf_stats_words)))
		return false;
	kf_ledger_values(kf_fold_described(), KF_SCOPE_WORD, word,
			 KF_NR_WORD_STATS, &sum);
	return true;
}

static bool add_slots(int fd, const struct kf_stats_section *slots)
{
	for (uint32_t i = 0; i < slots->nr; i++) {
		if (!kf_file_read_at(fd, &one_slot, sizeof(one_slot),
				     slots->offset +
					     i * (uint64_t)sizeof(one_slot)))
			return false;
		add_slot(&one_slot);
	}
	return true;
}

const struct kf_ledger_row *kf_fold_file(int fd, uint64_t size)
{
	struct kf_stats_header h;
	struct kf_stats_identity id;
	struct kf_stats_ending ending;

	memset(&sum, 0, sizeof(sum));
	if (!kf_file_read_at(fd, &h, sizeof(h), 0) || !is_like_ours(&h, size) ||
	    !has_our_descs(fd) ||
	    !kf_file_read_at(fd, &id, sizeof(id), KF_AT_IDENTITY) ||
	    !kf_file_read_at(fd, &ending, sizeof(ending), KF_AT_ENDING))
		return NULL;
	kf_ledger_key_of(&sum.key, &id, &ending);
	return add_classes(fd) && add_words(fd) && add_slots(fd, &h.slots) &&
			       add_slots(fd, &h.more)
		       ? &sum
		       : NULL;
}

static bool has_samples(void)
{
	uint32_t nr;

	return kf_word_get(KF_WORD_sample_mean) ||
	       kf_word_get(KF_WORD_samples) ||
	       kf_stats_area(KF_AREA_STACKS, &nr);
}

static bool counted_anything(const struct kf_ledger_row *row)
{
	for (uint32_t i = 0; i < KF_STATS_NR_CLASSES; i++) {
		if (row->class[i].mallocs | row->class[i].frees)
			return true;
	}
	return false;
}

/* Returns false where the path no longer leads to the file of this process. */
static bool target_own_file(int dirfd, const char *name, uint32_t uid,
			    bool keep, struct kf_ledger_target *t)
{
	const struct kf_stats_identity *id = kf_stats_self();
	struct kf_file_stat st;

	if (id->pid != t->pid || kf_file_look(dirfd, name, &st) ||
	    st.dev != kf_stats.dev || st.ino != kf_stats.ino || st.uid != uid)
		return false;
	t->own = true;
	t->name = name;
	t->dev = st.dev;
	t->ino = st.ino;
	t->created_ns = id->created_ns;
	t->keep = keep;
	return true;
}

static void fold_self(int dirfd, const char *name, bool keep)
{
	struct kf_ledger_target t = {
		.pid = kf_process_pid(),
		.reason = KF_LEDGER_EXIT,
	};
	uint32_t uid = kf_process_uid();
	struct kf_ledger_writer w;
	const struct kf_ledger_row *row;

	if (kf_stats.on_file && !target_own_file(dirfd, name, uid, keep, &t))
		return;
	/* A child that never had a file makes no ledger either. */
	if (kf_ledger_open(&w, dirfd, uid, kf_fold_described(),
			   kf_stats.on_file))
		return;
	row = kf_fold_memory();
	if ((kf_stats.on_file || counted_anything(row)) &&
	    !kf_ledger_fold(&w, row, &t))
		kf_watch_end(&w, t.keep);
	kf_ledger_close(&w);
}

static void fold_finish(bool keep)
{
	char path[PATH_MAX];
	const char *name;
	int dirfd;

	if (kf_stats.disabled || kf_stats.counts_lost ||
	    kf_stats.on_parents_file || kf_stats.in_bss || !kf_stats.path[0] ||
	    kf_process_is_barred() || !kf_growth_enter())
		return;
	memcpy(path, kf_stats.path, sizeof(path));
	dirfd = kf_file_open_dir(path, &name);
	if (dirfd >= 0) {
		fold_self(dirfd, name, keep);
		kf_file_close(dirfd);
	}
	kf_growth_leave();
}

void kf_stats_exit(int status)
{
	struct kf_stats_ending *e = (void *)(kf_stats.base + KF_AT_ENDING);

	if (!kf_stats.on_file || kf_stats.on_parents_file)
		return;
	e->status = status;
	kf_store_release(&e->exited, 1);
}

void kf_stats_finish(bool keep, bool keep_samples)
{
	fold_finish(keep || (keep_samples && has_samples()));
}

void kf_stats_leave(void)
{
	fold_finish(false);
	kf_guard_remove();
	kf_stats.path[0] = '\0';
	kf_store(&kf_stats.on_file, false);
}
