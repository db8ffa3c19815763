/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sweep of a user's stats files in a directory.
 *
 * A process that ends well removes its file itself (fold.c). The files of
 * killed processes are swept by the user's next process that makes a file in
 * the directory: it reads the notes in the ledger and folds the files of ended
 * processes. A folded file stays for a day as a black box, within the limits
 * below; the oldest goes first. So directories do not fill up, and a user's
 * processes remove only files of that user.
 *
 * Notes are hints. A file is folded or removed only if it is a plain file of
 * the user, written in this boot and pid namespace by a process that has ended
 * or has called exec since. One process in ONE_IN also sweeps files without a
 * note. A doubtful file stays.
 */
#include "config.h"

#include "stats/internal.h"

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ONE_IN 64
#define FILES_MAX 256
#define DAY_NS (24 * 3600 * (uint64_t)1000000000)

/* The most processes that are checked, and files removed, at one start. */
#define CHECKS 16
#define DROPS 32

/* Limits of a user's files: numbers, and shares of the file system. */
#define LIVE_MAX (KF_LEDGER_FILES - KEPT_MAX)
#define LIVE_SHARE 4
#define KEPT_MAX 256
#define KEPT_SHARE 100
#define FREE_SHARE 10
#define FREE_ENOUGH (64 * (uint64_t)KF_MIB) /* for files of live processes */

#define NOTES_AT_ONCE 64

/* A buffer, guarded by the right of growth. */
static struct kf_ledger_file notes[NOTES_AT_ONCE];

/* The result of a walk through the notes; KF_LEDGER_FILES stands for none. */
struct found {
	uint32_t nr_live;
	uint32_t nr_kept;
	uint64_t live_bytes;
	uint64_t kept_bytes;
	uint32_t unused; /* first unused note */
	uint32_t oldest; /* note of the oldest kept file */
	uint32_t last;	 /* last note of a kept file */
	uint64_t oldest_ns;
};

const struct kf_stats_identity *kf_stats_self(void)
{
	return (const void *)(kf_stats.base + KF_AT_IDENTITY);
}

/* Whether this process can find out which of the others have ended. */
static bool sweep_is_able(void)
{
	const struct kf_stats_identity *me = kf_stats_self();

	return me->pid_ns && me->boot_id[0] && me->start_ticks &&
	       me->pid == me->outer_pid && !kf_stats.was_filtered;
}

static bool is_gone(const struct kf_stats_identity *id)
{
	uint64_t start;

	if (kf_process_is_gone(id->pid))
		return true;
	start = kf_identity_start(id->pid);
	return start && start != id->start_ticks;
}

/* Whether a file is of this process before its last exec. */
static bool is_before_exec(const struct kf_stats_identity *id)
{
	const struct kf_stats_identity *me = kf_stats_self();

	return id->pid == me->pid && id->start_ticks == me->start_ticks &&
	       id->created_ns < me->created_ns;
}

static bool sweep_has_ended(const struct kf_stats_identity *id)
{
	const struct kf_stats_identity *me = kf_stats_self();

	return id->pid > 0 && id->start_ticks && id->uid == me->uid &&
	       id->pid_ns == me->pid_ns &&
	       !memcmp(id->boot_id, me->boot_id, sizeof(id->boot_id)) &&
	       (is_before_exec(id) || is_gone(id));
}

/* Open a stats file of the user and read its identity. */
static int open_own(int dirfd, const char *name, struct kf_file_stat *st,
		    struct kf_stats_identity *id)
{
	struct kf_stats_header h = {0};
	int fd = kf_file_open(dirfd, name, O_RDONLY | O_NOFOLLOW, 0);

	if (fd < 0)
		return fd;
	if (!kf_file_stat(fd, st) && S_ISREG(st->mode) &&
	    st->uid == kf_stats_self()->uid && st->size >= KF_AT_SLOTS &&
	    kf_file_read_at(fd, &h, sizeof(h), 0) &&
	    h.magic == KF_STATS_MAGIC && h.major == KF_STATS_MAJOR &&
	    h.identity.offset == KF_AT_IDENTITY &&
	    kf_file_read_at(fd, id, sizeof(*id), KF_AT_IDENTITY))
		return fd;
	kf_file_close(fd);
	return -EINVAL;
}

static bool is_folded(int fd)
{
	struct kf_stats_header h;
	uint64_t folded = 0;

	return kf_file_read_at(fd, &h, sizeof(h), 0) && h.ending.nr &&
	       kf_file_read_at(fd, &folded, sizeof(folded), h.ending.offset) &&
	       folded;
}

static bool sweep_is_old(uint64_t since_ns)
{
	return (int64_t)(kf_process_clock_ns(CLOCK_REALTIME) - since_ns) >
	       (int64_t)DAY_NS;
}

enum ending { GOES, STAYS, UNFOLDED };

/* Add the counters of an ended process to the ledger. */
static enum ending sweep_fold(struct kf_ledger_writer *w, const char *name,
			      int fd, const struct kf_file_stat *st,
			      const struct kf_stats_identity *id)
{
	bool execed = is_before_exec(id);
	const struct kf_ledger_row *row;
	struct kf_ledger_target t = {
		.name = name,
		.dev = st->dev,
		.ino = st->ino,
		.created_ns = id->created_ns,
		.pid = id->pid,
		.reason = execed ? KF_LEDGER_EXEC : KF_LEDGER_EXIT,
		.keep = !execed,
	};

	if (is_folded(fd))
		return STAYS;
	row = kf_fold_file(fd, st->size);
	if (row && !kf_ledger_fold(w, row, &t))
		return execed ? GOES : STAYS;
	return UNFOLDED;
}

/* Sweep the file of a note whose process seems to have ended. */
static void sweep_note(struct kf_ledger_writer *w, uint32_t i,
		       struct kf_ledger_file *note)
{
	struct kf_stats_identity id;
	struct kf_file_stat st = {0};
	char name[KF_BACKING_NAME];
	int fd;

	kf_backing_name(name, note->comm, note->pid, note->random);
	fd = open_own(w->dirfd, name, &st, &id);
	if (fd >= 0 && sweep_has_ended(&id)) {
		note->state = KF_LEDGER_FILE_KEPT;
		note->bytes = st.space;
		note->since_ns = kf_process_clock_ns(CLOCK_REALTIME);
		if (sweep_fold(w, name, fd, &st, &id) == GOES)
			memset(note, 0, sizeof(*note));
		kf_ledger_set_file(w, i, note);
	} else if (fd < 0) {
		/* its process was killed while it made the file */
		if (fd == -EINVAL && st.uid == kf_stats_self()->uid &&
		    S_ISREG(st.mode))
			kf_file_unlink_same(w->dirfd, name, st.dev, st.ino);
		memset(note, 0, sizeof(*note));
		kf_ledger_set_file(w, i, note);
	}
	if (fd >= 0)
		kf_file_close(fd);
}

/*
 * Remove the oldest kept file. The last note of a kept file moves to its place,
 * so that no walk ends before that note. A process that is killed in between
 * leaves two notes of one file; the second leads to no file later, and goes.
 */
static void sweep_drop(struct kf_ledger_writer *w, const struct found *f)
{
	uint32_t i = f->oldest;
	struct kf_ledger_file note;
	struct kf_stats_identity id;
	struct kf_file_stat st;
	char name[KF_BACKING_NAME];
	int fd;

	kf_ledger_files(w, i, &note, 1);
	kf_backing_name(name, note.comm, note.pid, note.random);
	fd = open_own(w->dirfd, name, &st, &id);
	if (fd >= 0) {
		if (sweep_has_ended(&id))
			kf_file_unlink_same(w->dirfd, name, st.dev, st.ino);
		kf_file_close(fd);
	}
	if (f->last > i) {
		kf_ledger_files(w, f->last, &note, 1);
		kf_ledger_set_file(w, i, &note);
		i = f->last;
	}
	memset(&note, 0, sizeof(note));
	kf_ledger_set_file(w, i, &note);
}

static bool seems_gone(const struct kf_ledger_file *note, uint32_t *checks)
{
	const struct kf_stats_identity *me = kf_stats_self();

	if (note->pid_ns != me->pid_ns || !sweep_is_able())
		return false;
	if (note->pid == me->pid)
		return true;
	if (!*checks)
		return false;
	--*checks;
	return kf_process_is_gone(note->pid);
}

static void sweep_count(struct found *f, uint32_t i,
			const struct kf_ledger_file *note)
{
	switch ((enum kf_ledger_file_state)note->state) {
	case KF_LEDGER_FILE_LIVE:
		f->nr_live++;
		f->live_bytes += note->bytes;
		return;
	case KF_LEDGER_FILE_KEPT:
		f->nr_kept++;
		f->kept_bytes += note->bytes;
		f->last = i;
		if (f->oldest == KF_LEDGER_FILES ||
		    note->since_ns < f->oldest_ns) {
			f->oldest = i;
			f->oldest_ns = note->since_ns;
		}
		return;
	default:
		if (f->unused == KF_LEDGER_FILES)
			f->unused = i;
	}
}

/*
 * Read a part of the notes. The lowest unused note is taken first, so the walk
 * ends at a part without notes. Returns whether there may be more.
 */
static bool sweep_part(struct kf_ledger_writer *w, uint32_t from,
		       uint32_t *checks, struct found *f)
{
	bool any = false;

	kf_ledger_files(w, from, notes, NOTES_AT_ONCE);
	for (uint32_t i = 0; i < NOTES_AT_ONCE; i++) {
		struct kf_ledger_file *note = &notes[i];

		if (note->state == KF_LEDGER_FILE_LIVE &&
		    seems_gone(note, checks))
			sweep_note(w, from + i, note);
		any = any || note->state;
		sweep_count(f, from + i, note);
	}
	return any;
}

static void sweep_notes(struct kf_ledger_writer *w, uint32_t checks,
			struct found *f)
{
	uint32_t from = 0;

	*f = (struct found){.unused = KF_LEDGER_FILES,
			    .oldest = KF_LEDGER_FILES,
			    .last = KF_LEDGER_FILES};
	while (from < KF_LEDGER_FILES && sweep_part(w, from, &checks, f))
		from += NOTES_AT_ONCE;
}

static bool sweep_is_too_much(const struct found *f, uint64_t total,
			      uint64_t available)
{
	return f->nr_kept > KEPT_MAX || sweep_is_old(f->oldest_ns) ||
	       f->kept_bytes > total / KEPT_SHARE ||
	       available < total / FREE_SHARE;
}

static void keep_limits(struct kf_ledger_writer *w, struct found *f)
{
	uint64_t total, available;

	for (int i = 0; i < DROPS && f->oldest < KF_LEDGER_FILES; i++) {
		if (kf_file_space(w->fd, &total, &available))
			total = available = UINT64_MAX;
		if (!sweep_is_too_much(f, total, available))
			return;
		sweep_drop(w, f);
		sweep_notes(w, 0, f);
	}
}

static int quota(int fd, const struct found *f)
{
	const uint64_t need = kf_image_size(kf_stats.nr_slots);
	uint64_t total, available;

	if (f->nr_live >= LIVE_MAX)
		return -EDQUOT;
	if (kf_file_space(fd, &total, &available))
		return 0;
	/* one file is always allowed */
	if (f->nr_live + f->nr_kept &&
	    f->live_bytes + f->kept_bytes + need > total / LIVE_SHARE)
		return -EDQUOT;
	return available < need + KF_MIN(total / FREE_SHARE, FREE_ENOUGH)
		       ? -ENOSPC
		       : 0;
}

/* Sweep a file without a note; one that cannot be folded goes after a day. */
static void sweep_file(struct kf_ledger_writer *w, const char *name)
{
	struct kf_stats_identity id;
	struct kf_file_stat st;
	int fd = open_own(w->dirfd, name, &st, &id);

	if (fd < 0)
		return;
	if (sweep_has_ended(&id) && sweep_fold(w, name, fd, &st, &id) != GOES &&
	    sweep_is_old(id.created_ns))
		kf_file_unlink_same(w->dirfd, name, st.dev, st.ino);
	kf_file_close(fd);
}

/* Sweep one file in @step, from a random one on; 0: none. Returns the number.
 */
static size_t sweep_walk(struct kf_ledger_writer *w, int fd, size_t step)
{
	struct kf_file_names names = {.fd = fd};
	size_t from = step > 1 ? kf_process_random() % step : 0;
	const char *name;
	size_t nr = 0;

	while ((name = kf_file_next_name(&names)) != NULL) {
		if (step && nr % step == from)
			sweep_file(w, name);
		nr++;
	}
	return nr;
}

void kf_sweep_all(struct kf_ledger_writer *w)
{
	int fd = kf_file_open(w->dirfd, ".", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return;
	if (sweep_is_able())
		sweep_walk(w, fd, sweep_walk(w, fd, 0) / FILES_MAX + 1);
	kf_file_close(fd);
}

int kf_watch_begin(struct kf_watch *watch, int dirfd)
{
	struct found f;

	kf_stats.note = 0;
	watch->unused = KF_LEDGER_FILES;
	watch->w.fd = -1;
	if (kf_ledger_open(&watch->w, dirfd, kf_stats_self()->uid,
			   kf_fold_described(), true)) {
		watch->w.fd = -1;
		/* the limits of the file system hold without a ledger too */
		return quota(dirfd, &(struct found){0});
	}
	if (kf_stats_self()->created_ns / 1000 % ONE_IN == 0)
		kf_sweep_all(&watch->w);
	sweep_notes(&watch->w, CHECKS, &f);
	keep_limits(&watch->w, &f);
	watch->unused = f.unused;
	return quota(watch->w.fd, &f);
}

void kf_watch_note(struct kf_watch *watch, const char *comm, uint64_t random)
{
	const struct kf_stats_identity *me = kf_stats_self();
	struct kf_ledger_file note = {
		.state = KF_LEDGER_FILE_LIVE,
		.pid = me->pid,
		.pid_ns = me->pid_ns,
		.start_ticks = me->start_ticks,
		.since_ns = me->created_ns,
		.bytes = kf_image_size(kf_stats.nr_slots),
		.random = random,
	};

	if (watch->w.fd < 0 || watch->unused == KF_LEDGER_FILES)
		return;
	memcpy(note.comm, comm, sizeof(note.comm));
	if (kf_ledger_set_file(&watch->w, watch->unused, &note))
		kf_stats.note = watch->unused + 1;
}

void kf_watch_leave(struct kf_watch *watch)
{
	if (watch->w.fd >= 0)
		kf_ledger_close(&watch->w);
}

void kf_watch_end(struct kf_ledger_writer *w, bool keep)
{
	struct kf_ledger_file note;

	if (!kf_stats.note)
		return;
	if (keep) {
		kf_ledger_files(w, kf_stats.note - 1, &note, 1);
		note.state = KF_LEDGER_FILE_KEPT;
		note.since_ns = kf_process_clock_ns(CLOCK_REALTIME);
	} else {
		memset(&note, 0, sizeof(note));
	}
	kf_ledger_set_file(w, kf_stats.note - 1, &note);
}
