/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All stats files of the directories, each with its snapshot and its life.
 *
 * A file whose process has ended is read again after the end, so that its
 * counters are final. A directory with several names is read once. Files that
 * cannot be read are in the list too, with the reason in their result.
 */
#include "reader/claim.h"
#include "reader/file-process.h"
#include "reader/outside.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_READERS KF_FILE_CACHE_READERS
#define FILES_A_READER 64     /* fewest files for which a thread is started */
#define FILE_NS 1000000000ull /* most time for one file */
#define BRIEF_NS 100000000ull /* ... that does not come last */
#define SLOW_NS 20000000ull   /* a slower file comes last in the next search */
#define LATER_NS \
	500000000ull	    /* for files that come last, if others take less */
#define TORN_NS 60000000ull /* most time that a writer may be preempted */
#define TORN_PAUSE_US 2000

/*
 * A search: first all names are listed, then readers take the files one by one.
 * A reader owns the file that it took; @lock guards all other members.
 */
struct search {
	struct kf_listing list;
	struct kf_files *out;
	const char *procfs;
	const char *part; /* or NULL */
	unsigned int tables;
	bool memory;
	unsigned int room;
	struct kf_places *places;
	bool outside;	      /* other users chose the directories */
	kf_file_visit *visit; /* NULL: snapshots stay in @out */
	bool (*skip)(void *ctx, const struct kf_file *file); /* or NULL */
	void *ctx;
	struct kf_file_cache *file_cache; /* or NULL */
	struct kf_find_left *left;	  /* NULL: users are not limited */
	pthread_mutex_t lock;		  /* held while @visit runs */
	uint64_t began_ns;
	uint64_t until_ns;
	bool later;	      /* only files that were left to the last turn */
	bool last;	      /* ... as they are */
	unsigned int begin;   /* ... from this one on */
	atomic_uint nr_again; /* number of files left to the last turn */
	atomic_uint nr_readers;
	atomic_uint next;
	atomic_int rc;
};

/* The private state of a reader. */
struct reader {
	struct search *se;
	struct kf_life_view view;
	struct kf_desc_cache own;
	struct kf_desc_cache *cache; /* @own, or a cached one */
	uint64_t used_ns;	     /* processor time */
};

/* A listed file that was not read yet, or not in this turn. */
static struct kf_file search_file_of(const struct search *se,
				     const struct kf_listed *l)
{
	const struct kf_place *place = &se->places->place[l->place];

	return (struct kf_file){.dir = place->name,
				.name = l->name,
				.dirfd = place->fd,
				.outside = place->outside,
				.regular = l->regular,
				.life = KF_LIFE_UNKNOWN,
				.cached = l->cached};
}

static struct kf_file *file_add(struct search *se)
{
	struct kf_files *out = se->out;

	if (out->nr == se->room) {
		unsigned int room = se->room ? 2 * se->room : 16;
		struct kf_file *f = realloc(out->file, room * sizeof(*f));

		if (!f)
			return NULL;
		out->file = f;
		se->room = room;
	}
	return &out->file[out->nr++];
}

/* Keeps a file and its snapshot in the list, which may have it already. */
static int file_keep(struct search *se, struct kf_listed *l,
		     const struct kf_file *f)
{
	struct kf_file *to = l->kept ? &se->out->file[l->kept - 1] : NULL;

	if (to) {
		kf_snapshot_release(&to->snap);
		to->snap = f->snap;
		return 0;
	}
	to = file_add(se);
	if (!to)
		return -1;
	l->kept = se->out->nr;
	*to = *f;
	to->cached = NULL;
	to->dir = strdup(f->dir);
	to->name = strdup(f->name);
	return to->dir && to->name ? 0 : -1;
}

/* Passes a file to @visit and frees its snapshot, or keeps both. */
static int hand_over(struct search *se, struct kf_listed *l, struct kf_file *f)
{
	int rc;

	if (!se->visit)
		return file_keep(se, l, f);
	pthread_mutex_lock(&se->lock);
	rc = se->visit(se->ctx, f);
	pthread_mutex_unlock(&se->lock);
	kf_snapshot_release(&f->snap);
	return rc;
}

/* The deadline of a file that is read now. */
static uint64_t search_until(const struct search *se)
{
	uint64_t most = se->left && !se->later ? BRIEF_NS : FILE_NS;

	return KF_MIN(se->until_ns, kf_clock_ns() + most);
}

/* Return: false if it cannot be read any more. */
static bool read_again(const struct search *se, struct kf_file *f)
{
	/* the process has ended, so a torn read is final */
	bool torn = false;
	const struct kf_read_how how = {.tables = se->tables,
					.until_ns = search_until(se),
					.torn = &torn};
	struct kf_snapshot s;

	kf_snapshot_read_as(f->dirfd, f->name, &how, &s);
	/* the name has another file now */
	if (s.result != KF_READ_OK || s.dev != f->snap.dev ||
	    s.ino != f->snap.ino) {
		kf_snapshot_release(&s);
		return false;
	}
	kf_snapshot_release(&f->snap);
	f->snap = s;
	return true;
}

/* Leaves a file to the last turn. */
static int search_leave(struct search *se, struct kf_listed *l,
			struct kf_file *f)
{
	kf_snapshot_release(&f->snap);
	l->turn = KF_TURN_LATER;
	se->nr_again++;
	return 0;
}

/* Return: false if the file is left to the last turn. */
static bool file_read_snapshot(struct reader *r, struct kf_file *f)
{
	struct search *se = r->se;
	uint64_t begin = kf_clock_ns();
	bool torn = false;
	const struct kf_read_how how = {.tables = se->tables,
					.regular = f->regular,
					.cache = r->cache,
					.cached = f->cached,
					.until_ns = search_until(se),
					.torn = &torn};

	if (f->cached && f->cached->slow && !se->later)
		return false;
	kf_snapshot_read_as(f->dirfd, f->name, &how, &f->snap);
	if (f->cached)
		f->cached->slow = kf_clock_ns() - begin > SLOW_NS;
	if (f->snap.result == KF_READ_LATE && !se->later)
		return kf_late(se->until_ns);
	return !torn || se->last;
}

/* Return: false if the file is left to the last turn. */
static bool file_find_process(struct reader *r, struct kf_file *f)
{
	r->view.brief = r->se->left && !r->se->later;
	if (!kf_file_find_process(&r->view, f, r->se->memory))
		return false;
	if (f->life == KF_LIFE_DEAD || f->life == KF_LIFE_EXECED)
		read_again(r->se, f);
	return true;
}

static bool search_skips(struct search *se, const struct kf_file *f)
{
	bool skipped;

	if (!se->skip)
		return false;
	pthread_mutex_lock(&se->lock);
	skipped = se->skip(se->ctx, f);
	pthread_mutex_unlock(&se->lock);
	return skipped;
}

static int file_read(struct reader *r, struct kf_listed *l)
{
	struct search *se = r->se;
	struct kf_file f = search_file_of(se, l);

	if (search_skips(se, &f)) {
		l->turn = KF_TURN_DONE;
		if (l->cached)
			l->cached->known = true;
		return 0;
	}
	if (!file_read_snapshot(r, &f))
		return search_leave(se, l, &f);
	if (f.snap.result == KF_READ_OK && !file_find_process(r, &f))
		return search_leave(se, l, &f);
	l->turn = KF_TURN_DONE;
	/* it was removed after the directory was listed */
	if (f.snap.result == KF_READ_ERROR && f.snap.error == ENOENT)
		return 0;
	if (f.snap.result == KF_READ_ERROR && f.snap.error == ENOMEM)
		return -1;
	kf_listed_note(l, &f);
	return hand_over(se, l, &f);
}

/* Counts the file in its user's share; false: it is not read in this turn. */
static bool search_share(struct search *se, struct kf_listed *l)
{
	if (kf_listed_owned(l, se->places->place[l->place].fd)) {
		pthread_mutex_lock(&se->lock);
		l->share = kf_share_take(&se->list, l);
		se->left->surplus += !l->share;
		pthread_mutex_unlock(&se->lock);
	}
	if (l->share && !kf_share_is_over(l->share))
		return true;
	l->turn = l->share ? KF_TURN_LATER : KF_TURN_DONE;
	se->nr_again += l->share != NULL;
	return false;
}

/* On a busy machine a reader waits at anyone's files. */
static uint64_t reader_time(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static int file_read_in_share(struct reader *r, struct kf_listed *l)
{
	uint64_t before = r->used_ns;
	int rc;

	if (!r->se->later && !search_share(r->se, l))
		return 0;
	rc = file_read(r, l);
	r->used_ns = reader_time();
	l->share->ns += r->used_ns - before;
	return rc;
}

/*
 * The file with a number, if it is read in this turn, or NULL. Numbers go
 * through all files, once for each turn before the last.
 */
static struct kf_listed *search_file(struct search *se, unsigned int i)
{
	struct kf_listed *l = &se->list.file[(i + se->begin) % se->list.nr];
	unsigned int turn = i / se->list.nr;

	if (l->turn == KF_TURN_LATER)
		return se->later && (turn || !l->share ||
				     !kf_share_is_over(l->share))
			       ? l
			       : NULL;
	return l->turn == turn ? l : NULL;
}

static void *run_reader(void *arg)
{
	struct search *se = arg;
	/* files that stay in the list need counters of their own */
	struct reader r = {.se = se, .own.room.lend = se->visit != NULL};
	unsigned int i;
	int rc;

	i = atomic_fetch_add(&se->nr_readers, 1);
	r.cache = se->file_cache ? &se->file_cache->descs[i] : &r.own;
	kf_life_open(&r.view, se->procfs);
	r.used_ns = reader_time();
	while (!se->rc && (i = atomic_fetch_add(&se->next, 1)) <
				  KF_TURN_LATER * se->list.nr) {
		struct kf_listed *l = search_file(se, i);

		rc = 0;
		if (l)
			rc = se->left ? file_read_in_share(&r, l)
				      : file_read(&r, l);
		if (rc)
			se->rc = rc;
	}
	kf_life_close(&r.view);
	kf_desc_cache_release(&r.own);
	return NULL;
}

/* Starts as many readers as are useful; the caller is one of them. */
static void run_readers(struct search *se)
{
	unsigned int nr = se->list.nr / FILES_A_READER, i;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[MAX_READERS];

	nr = KF_MIN(nr, (unsigned int)MAX_READERS);
	if (!se->visit || cpus < 1)
		nr = 0;
	nr = KF_MIN(nr, (unsigned int)cpus);
	for (i = 0; i + 1 < nr; i++) {
		if (pthread_create(&thread[i], NULL, run_reader, se) != 0)
			break;
	}
	run_reader(se);
	while (i)
		pthread_join(thread[--i], NULL);
}

/* The last turn takes no longer than those before, or LATER_NS. */
static void search_limit(struct search *se)
{
	uint64_t now = kf_clock_ns();

	se->until_ns = KF_MIN(se->until_ns,
			      now + KF_MAX(now - se->began_ns, LATER_NS));
}

/*
 * Torn and slow files are read again, all together: any number of files that
 * stay torn, as their writers were killed, then cost one wait only.
 */
static void read_later(struct search *se)
{
	uint64_t until = kf_clock_ns() + TORN_NS;

	se->later = true;
	if (se->left) {
		search_limit(se);
		/* so that each file has its turn */
		se->begin = se->file_cache->later++ * 2654435761u %
			    (se->list.nr + 1);
	}
	while (!se->rc && se->nr_again) {
		usleep(TORN_PAUSE_US);
		se->last = kf_late(KF_MIN(until, se->until_ns));
		se->nr_again = se->nr_readers = se->next = 0;
		run_reader(se);
	}
}

/* Lists all names of a directory; takes ownership of the descriptor. */
static int list_names(void *ctx, int fd, const char *path)
{
	struct search *se = ctx;
	int rc = kf_places_add(se->places, fd, path, se->outside);
	unsigned int number = se->places->nr - 1;

	if (rc < 1) {
		close(fd);
		return rc;
	}
	return kf_listing_add(&se->list, fd, &se->places->place[number], number,
			      se->part, se->file_cache);
}

static int dir_list(struct search *se, const char *path)
{
	int fd = kf_place_open(path);

	return fd < 0 ? 0 : list_names(se, fd, path);
}

static int files_by_place(const void *va, const void *vb)
{
	const struct kf_file *a = va, *b = vb;
	int cmp = strcmp(a->dir, b->dir);

	return cmp ? cmp : strcmp(a->name, b->name);
}

/* The file as it was visited, without its counters. */
static struct kf_file search_visited(const struct search *se,
				     const struct kf_listed *l)
{
	struct kf_file f = search_file_of(se, l);

	f.snap.owner = l->owner;
	f.snap.dev = l->dev;
	f.snap.ino = l->ino;
	return f;
}

static int mark_execed(void *ctx, struct kf_listed *l)
{
	struct search *se = ctx;
	struct kf_file f = search_visited(se, l);

	if (l->life == KF_LIFE_EXECED)
		return 0;
	f.life = l->life = KF_LIFE_EXECED;
	if (l->kept) {
		se->out->file[l->kept - 1].life = f.life;
		se->out->file[l->kept - 1].pid = 0;
	}
	return read_again(se, &f) ? hand_over(se, l, &f) : 0;
}

/* The file was visited already: visit it again with its final result. */
static int mark_conflict(void *ctx, struct kf_listed *l)
{
	struct search *se = ctx;
	struct kf_file f = search_visited(se, l);

	if (l->cached)
		l->cached->known = false;
	if (l->kept) {
		kf_file_set_conflict(&se->out->file[l->kept - 1]);
		return 0;
	}
	kf_file_set_conflict(&f);
	return hand_over(se, l, &f);
}

static int settle_claims(struct search *se)
{
	const struct kf_claim_verdicts v = {mark_execed, mark_conflict, se};

	return kf_claims_settle(&se->list, &v);
}

/* Nothing is listed for a process that may not be inspected. */
static int list_of(struct search *se, int32_t pid)
{
	struct kf_outside found;
	unsigned int hidden;
	int rc;

	if (kf_outside_of(se->procfs, pid, &hidden, &found))
		return 0;
	se->outside = found.outside;
	rc = list_names(se, found.fd, found.name);
	se->outside = false;
	return rc;
}

static int list_all(struct search *se, const struct kf_find *find)
{
	char **own = NULL;
	const char *const *dirs = find ? find->dirs : NULL;
	int rc = 0;

	if (!dirs) {
		own = kf_default_dirs();
		dirs = (const char *const *)own;
	}
	if (!dirs)
		return -1;
	for (; !rc && *dirs; dirs++)
		rc = dir_list(se, *dirs);
	free(own);
	for (unsigned int i = 0; find && !rc && i < find->nr_pids; i++)
		rc = list_of(se, find->pids[i]);
	if (!rc && find && find->hidden) {
		se->outside = true;
		rc = kf_outside_find(se->procfs, find->hidden, list_names, se);
	}
	return rc;
}

/* The lock is held briefly, so a waiting thread spins before it sleeps. */
static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static int search_dirs(struct search *se, const struct kf_find *find)
{
	int rc;

	memset(se->out, 0, sizeof(*se->out));
	se->procfs = find && find->procfs ? find->procfs : "/proc";
	se->part = find ? find->part : NULL;
	se->tables = find ? find->tables : 0;
	se->memory = find && find->memory;
	/* the cache's memory must not stay in a list */
	se->file_cache = find && se->visit ? find->file_cache : NULL;
	se->until_ns = find ? find->until_ns : 0;
	se->began_ns = kf_clock_ns();
	if (!se->until_ns)
		se->until_ns = se->began_ns + KF_SEARCH_S * 1000000000ull;
	se->left = se->file_cache ? find->left : NULL;
	if (se->left) {
		*se->left = (struct kf_find_left){0};
		se->list.share = calloc(KF_NR_SHARES, sizeof(*se->list.share));
		if (!se->list.share)
			return -1;
	}
	init_lock(&se->lock);
	rc = list_all(se, find);
	if (!rc) {
		run_readers(se);
		read_later(se);
		rc = se->rc;
	}
	if (se->left)
		search_limit(se);
	if (!rc)
		rc = settle_claims(se);
	if (se->left)
		se->left->nr_dirs = se->list.nr_full;
	if (se->file_cache)
		kf_file_cache_sweep(se->file_cache);
	kf_listing_release(&se->list);
	pthread_mutex_destroy(&se->lock);
	if (rc)
		kf_files_release(se->out);
	return rc;
}

int kf_files_find(const struct kf_find *find, struct kf_files *out)
{
	struct search se = {.out = out, .places = &out->places};

	if (search_dirs(&se, find)) {
		errno = ENOMEM;
		return -1;
	}
	if (out->nr)
		qsort(out->file, out->nr, sizeof(*out->file), files_by_place);
	return 0;
}

int kf_files_visit(const struct kf_find *find, kf_file_visit *visit, void *ctx)
{
	struct kf_files files;
	struct search se = {.out = &files,
			    .visit = visit,
			    .skip = find ? find->skip : NULL,
			    .ctx = ctx};
	int rc;

	se.places = find && find->places ? find->places : &files.places;
	rc = search_dirs(&se, find);
	if (!rc)
		kf_files_release(&files);
	return rc;
}

void kf_files_release(struct kf_files *files)
{
	for (unsigned int i = 0; i < files->nr; i++) {
		kf_snapshot_release(&files->file[i].snap);
		free(files->file[i].dir);
		free(files->file[i].name);
	}
	free(files->file);
	kf_places_close(&files->places);
	files->file = NULL;
	files->nr = 0;
}
