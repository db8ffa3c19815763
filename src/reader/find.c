/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All stats files of the directories, each with its snapshot and its life.
 *
 * A file whose process has ended is read again after the end, so that its
 * counters are final. A directory with several names is read once. Files that
 * cannot be read are in the list too, with the reason in their result.
 */
#include "reader/claim.h"
#include "reader/internal.h"
#include "reader/file-cache.h"
#include "reader/outside.h"
#include "reader/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_READERS KF_FILE_CACHE_READERS
#define MAX_OUTSIDE 20000     /* most names in others' directories */
#define FILES_A_READER 64     /* fewest files for which a thread is started */
#define FILE_NS 1000000000ull /* most time for one file */
#define SLOW_NS 20000000ull   /* a slower file comes last in the next search */
#define TORN_NS 60000000ull   /* most time that a writer may be preempted */
#define TORN_PAUSE_US 2000

/*
 * A search: first all names are listed, then readers take the files one by one.
 * A reader owns the file that it took; @lock guards all other members.
 */
struct search {
	struct kf_files *out;
	const char *procfs;
	const char *part; /* or NULL */
	unsigned int tables;
	bool memory;
	unsigned int room;
	struct kf_places *places;
	bool outside; /* other users chose the directories */
	unsigned int nr_outside;
	kf_file_visit *visit; /* NULL: snapshots stay in the list */
	bool (*skip)(void *ctx, const struct kf_file *file); /* or NULL */
	void *ctx;
	struct kf_file_cache *file_cache; /* or NULL */
	pthread_mutex_t lock;		  /* held while @visit runs */
	uint64_t until_ns;
	bool again;	      /* only files that were left to the next turn */
	bool last;	      /* ... as they are */
	atomic_uint nr_again; /* number of files left to the next turn */
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
};

static bool life_ended(enum kf_life life)
{
	return life == KF_LIFE_DEAD || life == KF_LIFE_EXECED;
}

/* Passes a file to @visit, then frees its snapshot except the identity. */
static int hand_over(struct search *se, struct kf_file *f)
{
	int rc;

	if (!se->visit)
		return 0;
	pthread_mutex_lock(&se->lock);
	rc = se->visit(se->ctx, f);
	pthread_mutex_unlock(&se->lock);
	kf_snapshot_release(&f->snap);
	return rc;
}

static void read_again(const struct search *se, int dirfd, struct kf_file *f)
{
	/* the process has ended, so a torn read is final */
	bool torn = false;
	const struct kf_read_how how = {
		.tables = se->tables, .until_ns = se->until_ns, .torn = &torn};
	struct kf_snapshot s;

	kf_snapshot_read_as(dirfd, f->name, &how, &s);
	/* the name has another file now */
	if (s.result != KF_READ_OK || s.dev != f->snap.dev ||
	    s.ino != f->snap.ino) {
		kf_snapshot_release(&s);
		return;
	}
	kf_snapshot_release(&f->snap);
	f->snap = s;
}

static struct kf_file *file_add(struct search *se, const struct dirent *de)
{
	const struct kf_place *place = &se->places->place[se->places->nr - 1];
	struct kf_files *out = se->out;
	struct kf_file *f;

	if (out->nr == se->room) {
		unsigned int room = se->room ? 2 * se->room : 16;

		f = realloc(out->file, room * sizeof(*f));
		if (!f)
			return NULL;
		out->file = f;
		se->room = room;
	}
	f = &out->file[out->nr];
	memset(f, 0, sizeof(*f));
	f->dir = strdup(place->name);
	f->name = strdup(de->d_name);
	if (!f->dir || !f->name) {
		free(f->dir);
		free(f->name);
		return NULL;
	}
	f->outside = se->outside;
	f->regular = de->d_type == DT_REG;
	f->dirfd = place->fd;
	/* an open file of a container would keep its mount busy */
	if (se->file_cache && f->regular && !f->outside)
		f->cached = kf_file_cache_get(se->file_cache, place, f->name,
					      (uint64_t)de->d_ino);
	out->nr++;
	return f;
}

/* A file that was removed after the directory was listed is dropped. */
static void file_forget(struct kf_file *f)
{
	free(f->dir);
	free(f->name);
	f->dir = NULL;
	f->name = NULL;
}

static void note_memory(struct kf_file *f, const struct kf_statm *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	f->resident = m->resident * page;
	f->shared = m->shared * page;
}

static bool still_alive(struct reader *r, struct kf_file *f)
{
	struct kf_statm m;

	if (!f->cached ||
	    !kf_cached_file_is_alive(&r->view, f->cached, f->dirfd, &m))
		return false;
	f->life = KF_LIFE_ALIVE;
	f->firm = f->cached->firm;
	f->pid = f->cached->pid;
	memcpy(f->comm, r->view.comm, sizeof(f->comm));
	if (r->se->memory)
		note_memory(f, &m);
	return true;
}

static void set_conflict(struct kf_file *f)
{
	f->snap.result = KF_READ_CONFLICT;
	f->life = KF_LIFE_UNKNOWN;
	f->pid = 0;
}

/* Whether the file is believed about its process: see claim.h. */
static bool may_claim(struct reader *r, struct kf_file *f)
{
	enum kf_claim claim;

	if (f->life != KF_LIFE_ALIVE)
		return !kf_claim_lies(&r->view, &f->snap.id, f->snap.owner);
	claim = kf_claim_of(&r->view, f->pid, f->snap.owner);
	f->firm = claim == KF_CLAIM_WHOLE;
	return claim != KF_CLAIM_NONE;
}

static void look_at_process(struct reader *r, struct kf_file *f)
{
	struct kf_statm m;
	int procfd;

	f->life = kf_life_of(&r->view, &f->snap.id, f->dirfd, f->name, &f->pid);
	if (!may_claim(r, f)) {
		set_conflict(f);
		return;
	}
	if (life_ended(f->life))
		read_again(r->se, f->dirfd, f);
	if (!f->pid)
		return;
	if (f->cached)
		kf_cached_file_store_process(&r->view, f->cached, f);
	memcpy(f->comm, r->view.comm, sizeof(f->comm));
	if (!r->se->memory)
		return;
	procfd = kf_proc_open(r->view.procfd, f->pid);
	if (kf_statm_read(procfd, &m))
		note_memory(f, &m);
	if (procfd >= 0)
		close(procfd);
}

/* A file that took long the last time is read after all others. */
static bool search_leave(struct search *se, struct kf_file *f)
{
	kf_snapshot_release(&f->snap);
	f->again = true;
	se->nr_again++;
	return true;
}

/* Return: whether it was read; false if it is left to the next turn. */
static bool snapshot_read(struct reader *r, struct kf_file *f)
{
	struct search *se = r->se;
	uint64_t begin = kf_clock_ns();
	bool torn = false;
	const struct kf_read_how how = {
		.tables = se->tables,
		.regular = f->regular,
		.cache = r->cache,
		.cached = f->cached,
		.until_ns = KF_MIN(se->until_ns, begin + FILE_NS),
		.torn = &torn};

	if (f->cached && f->cached->slow && !f->again)
		return !search_leave(se, f);
	f->again = false;
	kf_snapshot_read_as(f->dirfd, f->name, &how, &f->snap);
	if (f->cached)
		f->cached->slow = kf_clock_ns() - begin > SLOW_NS;
	return !torn || se->last || !search_leave(se, f);
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

static int file_read(struct reader *r, struct kf_file *f)
{
	f->life = KF_LIFE_UNKNOWN;
	if (search_skips(r->se, f)) {
		file_forget(f);
		return 0;
	}
	if (!snapshot_read(r, f))
		return 0;
	if (f->snap.result == KF_READ_ERROR && f->snap.error == ENOENT) {
		file_forget(f);
		return 0;
	}
	if (f->snap.result == KF_READ_ERROR && f->snap.error == ENOMEM)
		return -1;
	if (f->snap.result != KF_READ_OK)
		return hand_over(r->se, f);
	if (!still_alive(r, f))
		look_at_process(r, f);
	return hand_over(r->se, f);
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
	while (!se->rc && (i = atomic_fetch_add(&se->next, 1)) < se->out->nr) {
		struct kf_file *f = &se->out->file[i];

		rc = se->again && !f->again ? 0 : file_read(&r, f);
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
	unsigned int nr = se->out->nr / FILES_A_READER, i;
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

/*
 * Torn and slow files are read again, all together: any number of files that
 * stay torn, as their writers were killed, then cost one wait only.
 */
static void read_again_all(struct search *se)
{
	uint64_t until = kf_clock_ns() + TORN_NS;

	se->again = true;
	while (!se->rc && se->nr_again) {
		usleep(TORN_PAUSE_US);
		se->last = kf_late(KF_MIN(until, se->until_ns));
		se->nr_again = se->nr_readers = se->next = 0;
		run_reader(se);
	}
}

/* Lists all names of a directory; takes ownership of the descriptor. */
static int list_names(struct search *se, int fd, const char *path)
{
	int copy, rc = kf_places_add(se->places, fd, path, se->outside);
	struct dirent *de;
	DIR *dir;

	if (rc < 1) {
		close(fd);
		return rc;
	}
	rc = 0;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir) {
		if (copy >= 0)
			close(copy);
		return -1;
	}
	while (!rc && (de = readdir(dir))) {
		if (de->d_name[0] == '.' ||
		    (se->part && !strstr(de->d_name, se->part)))
			continue;
		if (se->outside && se->nr_outside++ >= MAX_OUTSIDE)
			break;
		rc = file_add(se, de) ? 0 : -1;
	}
	closedir(dir);
	return rc;
}

static int list_outside(void *ctx, int fd, const char *name)
{
	return list_names(ctx, fd, name);
}

static int dir_list(struct search *se, const char *path)
{
	int fd = kf_place_open(path);

	return fd < 0 ? 0 : list_names(se, fd, path);
}

static void drop_forgotten(struct kf_files *out)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < out->nr; i++) {
		if (out->file[i].name)
			out->file[kept++] = out->file[i];
	}
	out->nr = kept;
}

static int files_by_place(const void *va, const void *vb)
{
	const struct kf_file *a = va, *b = vb;
	int cmp = strcmp(a->dir, b->dir);

	return cmp ? cmp : strcmp(a->name, b->name);
}

static int mark_execed(void *ctx, struct kf_file *f)
{
	struct search *se = ctx;

	if (f->life == KF_LIFE_EXECED)
		return 0;
	f->life = KF_LIFE_EXECED;
	f->pid = 0;
	read_again(se, f->dirfd, f);
	/* a file that could not be read again has no counters any more */
	return f->snap.counters ? hand_over(se, f) : 0;
}

/* The file was visited already: visit it again with its final result. */
static int mark_conflict(void *ctx, struct kf_file *f)
{
	struct search *se = ctx;

	set_conflict(f);
	return hand_over(se, f);
}

static int settle_claims(struct search *se)
{
	const struct kf_claim_verdicts v = {mark_execed, mark_conflict, se};

	return kf_claims_settle(se->out, &v);
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
		rc = kf_outside_find(se->procfs, find->hidden, list_outside,
				     se);
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
	if (!se->until_ns)
		se->until_ns = kf_clock_ns() + KF_SEARCH_S * 1000000000ull;
	init_lock(&se->lock);
	rc = list_all(se, find);
	if (!rc) {
		run_readers(se);
		read_again_all(se);
		rc = se->rc;
	}
	drop_forgotten(se->out);
	if (!rc)
		rc = settle_claims(se);
	if (se->file_cache)
		kf_file_cache_sweep(se->file_cache);
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
