/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Groups: the sums of all processes with the same name and container.
 *
 * No counter of a group ever falls: not when its processes end, call exec or
 * change their name, nor, with a state file, when the exporter restarts. A
 * process that ended is folded into its group's totals, the state is made
 * durable, and only then may its stats file be deleted. The file of a process
 * that may be alive is never deleted. Processes that begin and end between two
 * scans are counted by the ledgers: see ledgers.h.
 *
 * A member is a stats file. For each of its counters it has a base: the part
 * that is already in the totals. A member contributes its counts minus its
 * base. Folding adds this difference to the totals and to the base, so folding
 * twice, or reading a folded file again, adds nothing.
 */
#ifndef KF_EXPORTER_GROUPS_H
#define KF_EXPORTER_GROUPS_H

#include "exporter/groups/figures.h"
#include "exporter/groups/naming.h"
#include "reader/proc.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/* 16 bytes of comm or 64 of a given name, at most 3 bytes for each. */
#define KF_NAME_SIZE 200

/*
 * Constant after kf_groups_init(), except for the rules of kf_groups_rename();
 * the strings must stay valid.
 */
struct kf_groups_conf {
	const char *const *dirs; /* NULL: the library's directories */
	const char *procfs;
	const char *cgroupfs;
	bool outside;		  /* look into other mount namespaces */
	struct kf_naming *naming; /* NULL: names as they are */
	bool smaps;		  /* also read smaps_rollup */
	bool tags;		  /* also read the tables of tags */
	bool resident;		  /* also read resident memory */
	bool exemplars;		  /* also read samples: see exemplars.h */
	const char *state_file;	  /* NULL: totals are lost at the end */
	unsigned int max;	  /* groups; further processes are in "other" */
	unsigned int forget_s;
	unsigned int keep_s; /* files of ended processes */
	bool read_only;	     /* delete nothing, save nothing */
};

/* Sums over a group's processes, in bytes; see collect/resident.c. */
enum kf_resident {
	KF_RESIDENT_ANON,
	KF_RESIDENT_FILE,
	KF_RESIDENT_SHARE,
	KF_RESIDENT_SWAP,
	KF_NR_RESIDENT
};

/* A sampled block that stands for those of its size. */
struct kf_exemplar_block {
	uint64_t ns; /* CLOCK_REALTIME of its allocation; 0: there is none */
	uint64_t born_ns; /* as its file has it */
	uint64_t bytes;
	uint64_t stack;
	int32_t pid; /* 0: not visible */
};

struct kf_cgroup;
struct kf_member_tag;
struct kf_seen_ledger;

/* The lock of struct kf_groups guards all fields. */
struct kf_group {
	struct kf_group *next;
	char name[KF_NAME_SIZE];
	char container[KF_CONTAINER_SHORT];
	bool changed; /* differs from the state file */
	int nth;      /* number in the list while the state is written */
	time_t last_alive;
	uint64_t created_ns; /* CLOCK_REALTIME; 0: not known */
	bool announced;	     /* @created_ns is final */
	bool configured;     /* its name is in the rules: never forgotten */
	unsigned int processes;
	uint64_t oldest_ns; /* CLOCK_REALTIME; 0: no process */
	uint64_t resident[KF_NR_RESIDENT];
	struct kf_exemplar_block exemplar[KF_NR_SIZES + 1];
	uint64_t total[KF_MAX_FIGURES]; /* folded; counters only */
	uint64_t now[KF_MAX_FIGURES];	/* totals and living members */
};

/* A stats file, identified by its path and creation time. */
struct kf_member {
	struct kf_member *next;
	char *path;
	uint64_t created_ns;
	struct kf_group *group;	 /* NULL: forgotten, contributes nothing */
	char name[KF_NAME_SIZE]; /* name of its group without limits */
	char container[KF_CONTAINER_SHORT];
	bool container_known; /* its container was determined, as far as
				 possible */
	bool ended;	      /* folded, and its end counted */
	bool folded;	/* its counts are in a ledger; @ended is set too */
	bool deleted;	/* the exporter has deleted its file */
	bool changed;	/* differs from the state file */
	bool to_delete; /* delete its file when the state is durable */
	bool stuck;	/* its file could not be deleted; logged */
	bool present;	/* seen in this scan */
	bool read;	/* was read in this scan */
	bool late;	/* was not read in time */
	/* its file at the last reading, and facts from it */
	int dirfd; /* of its directory, while the scan lasts; -1: not read */
	uint64_t dev;
	uint64_t ino;
	uint32_t owner;	 /* user id */
	bool owned;	 /* @owner is known */
	int32_t id_pid;	 /* pid in its own namespace; 0: not known */
	uint64_t key[2]; /* of its row in a ledger; 0: not known */
	bool marked;	 /* its file is marked as folded */
	enum kf_life life;
	enum kf_ended_cause cause; /* if @life is KF_LIFE_DEAD */
	int32_t pid;		   /* pid in procfs; 0: ended or not visible */
	bool of_this_boot;	   /* of this boot, in a configured directory */
	char given[64];		   /* KONFISCATOR_NAME, raw, or "" */
	char comm[16];		   /* raw */
	char called[16];	   /* current command name, raw, or "" */
	uint64_t resident;	   /* bytes in memory */
	uint64_t shared;	  /* file-backed and shared part of @resident */
	char ruled[KF_PROC_COMM]; /* command name at the last use of the rules
				   */
	struct kf_cgroup *cgroup; /* NULL: not determined, or none */
	bool cgroup_looked;
	struct stat last; /* state of its file before it was read; ended only */
	uint64_t seen_ns; /* CLOCK_BOOTTIME when @seen was read; 0: not yet */
	time_t gone;	  /* since when its file is not there, or 0 */
	time_t ended_at;  /* when that was seen, or 0 */
	uint64_t *base;	  /* NULL: all 0 */
	uint64_t seen[KF_MAX_FIGURES];	     /* counters: largest values seen */
	struct kf_exemplar_block *exemplars; /* of each size, or NULL */
	unsigned int nr_tags;		     /* see tags.h */
	struct kf_member_tag *tags;
};

/* A file that could not be read, so that it is logged only once. */
struct kf_bad_file {
	struct kf_bad_file *next;
	char *path;
	enum kf_read_result result;
	bool present;
};

#define KF_MEMBER_BUCKETS 32768
#define KF_SEEN_ROWS 256 /* of a ledger */

/* The open state file; see state.h. */
struct kf_state_end {
	int fd;		   /* -1: rewrite the file */
	uint64_t whole;	   /* bytes after the last rewrite */
	uint64_t appended; /* bytes appended since */
};

/* @lock guards all fields below it; hold it from the scan to the last read. */
struct kf_groups {
	struct kf_groups_conf conf;
	pthread_mutex_t lock;
	struct kf_file_cache *file_cache; /* of scans, or NULL */
	struct kf_ended_log *ended_log;	  /* once a scan needed it, or NULL */
	struct kf_places places;	  /* the directories during a scan */
	struct kf_figures figures;
	struct kf_group *groups;
	unsigned int nr_groups; /* without "other" */
	struct kf_member *members[KF_MEMBER_BUCKETS];
	struct kf_seen_ledger *ledgers;
	struct kf_cgroup *cgroups; /* with living members */
	uint64_t dropped_cgroups;  /* cgroups that found no room in the list */
	struct kf_bad_file *bad;
	unsigned int nr_bad;
	unsigned int files[KF_NR_READ_RESULTS];
	struct kf_find_left left; /* what the last scan left out */
	uint64_t dropped;	  /* processes that went into "other" */
	uint64_t save_errors;
	unsigned int hidden; /* processes that could not be examined */
	bool hidden_said;
	bool late_said;
	bool left_said;
	bool some_gone;	     /* some members lost their file in the last scan */
	bool some_to_delete; /* some files are to be deleted */
	bool dirty;	     /* the state file is out of date */
	bool rewrite;	     /* the state file must be rewritten */
	struct kf_state_end state;
	int lock_fd; /* of the state file's lock, or -1 */
	bool scanned;
	uint64_t scan_ns; /* CLOCK_REALTIME of the last scan, or of the start */
	uint64_t before_ns; /* a time when groups made now were not there */
	uint64_t forgot_ns; /* when a group was forgotten, or the start */
	int scan_result;    /* result and start of the last scan */
	struct timespec scan_began;
	char boot_id[40];
};

/**
 * kf_groups_init() - initialize groups from the state file
 * @g:		out: the groups
 * @conf:	copied
 *
 * A damaged state file is moved aside, and reported.
 *
 * Context: once, before there are threads.
 * Return: 0, or -1 if the state file is in use by another exporter or unusable;
 *	   the reason was printed on stderr.
 */
int kf_groups_init(struct kf_groups *g, const struct kf_groups_conf *conf);

/**
 * kf_groups_scan() - read all files, fold ended processes
 * @g:		the groups, locked
 * @since:	CLOCK_MONOTONIC; a scan that began at that time or later is
 * reused
 * @until:	CLOCK_MONOTONIC; reading takes at most half of the time left
 *		until then, and at most KF_SEARCH_S. NULL: KF_SEARCH_S
 *
 * Files that were not read in time keep their previous counts.
 *
 * Return: 0, or -1 when out of memory; then do not serve the figures.
 */
int kf_groups_scan(struct kf_groups *g, const struct timespec *since,
		   const struct timespec *until);

/**
 * kf_groups_rename() - replace the naming rules
 * @g:		the groups
 * @naming:	the rules, used from the next scan on
 *
 * Earlier counts of a process stay in its old group.
 *
 * Context: any thread, without the lock.
 * Return: the old rules, no longer in use.
 */
struct kf_naming *kf_groups_rename(struct kf_groups *g,
				   struct kf_naming *naming);

/**
 * kf_groups_save() - write the state file if something changed
 * @g:		the groups, locked
 *
 * Context: any thread. Waits for the disk. Failure is logged once and leaves
 *	    @g->dirty.
 */
void kf_groups_save(struct kf_groups *g);

/**
 * kf_groups_finish() - save the state and free the groups
 * @g:		the groups
 *
 * Context: once, when no other thread is left.
 */
void kf_groups_finish(struct kf_groups *g);

/**
 * kf_groups_clear() - forget all groups and members
 * @g:		the groups, locked or not yet shared
 */
void kf_groups_clear(struct kf_groups *g);

/**
 * kf_group_get() - find or make the group of a name
 * @g:		the groups, locked
 * @name:	cleaned name
 * @container:	container id or ""
 *
 * Return: the group; "other" beyond the limit; NULL when out of memory.
 */
struct kf_group *kf_group_get(struct kf_groups *g, const char *name,
			      const char *container);

/* A function for a member. */
typedef bool kf_member_fn(struct kf_groups *g, struct kf_member *m, time_t now);

/**
 * kf_members_each() - call a function for each member
 * @g:		the groups, locked
 * @fn:		the function
 * @now:	passed to the function
 *
 * Return: whether @fn returned true for all members.
 */
bool kf_members_each(struct kf_groups *g, kf_member_fn *fn, time_t now);

/**
 * kf_members_drop() - forget some members
 * @g:		the groups, locked
 * @goes:	returns whether to forget a member
 * @now:	passed to the function
 */
void kf_members_drop(struct kf_groups *g, kf_member_fn *goes, time_t now);

/**
 * kf_member_fold() - move a member's counts into its group's totals
 * @g:		the groups, locked
 * @m:		the member
 *
 * Return: false when out of memory.
 */
bool kf_member_fold(struct kf_groups *g, struct kf_member *m);

/**
 * kf_member_place() - put a member into the group of its name
 * @g:		the groups, locked
 * @m:		the member
 * @name:	cleaned name, not @m's
 * @container:	container id or "", not @m's
 *
 * Its earlier counts stay in its old group.
 *
 * Return: false when out of memory.
 */
bool kf_member_place(struct kf_groups *g, struct kf_member *m, const char *name,
		     const char *container);

/**
 * kf_member_has_ended() - whether a member's process has ended or called exec
 * @m:		the member, read in this scan
 *
 * Return: true if so.
 */
bool kf_member_has_ended(const struct kf_member *m);

/**
 * kf_file_is_gone() - whether a file does not exist
 * @path:	the file
 *
 * Return: false also if that is unknown.
 */
bool kf_file_is_gone(const char *path);

/**
 * kf_groups_complain() - log once that a file is not used
 * @g:		the groups, locked
 * @path:	the file
 * @result:	the reason
 * @error:	errno if @result is KF_READ_ERROR
 */
void kf_groups_complain(struct kf_groups *g, const char *path,
			enum kf_read_result result, int error);

/**
 * kf_groups_tell() - log what a scan did not read, and count it
 * @g:		the groups, locked, after all files were read
 */
void kf_groups_tell(struct kf_groups *g);

/**
 * kf_member_bucket() - get the hash bucket of a file
 * @g:		the groups, locked
 * @path:	the file
 *
 * Return: the first member of its list.
 */
struct kf_member **kf_member_bucket(struct kf_groups *g, const char *path);

/**
 * kf_member_find() - find the member of a file
 * @g:		the groups, locked
 * @path:	its path
 * @created_ns:	when the file was made
 *
 * Return: the member, or NULL.
 */
struct kf_member *kf_member_find(struct kf_groups *g, const char *path,
				 uint64_t created_ns);

/**
 * kf_member_get() - find or make the member of a file
 * @g:		the groups, locked
 * @path:	its path
 * @created_ns:	when the file was made
 *
 * Return: the member; NULL when out of memory.
 */
struct kf_member *kf_member_get(struct kf_groups *g, const char *path,
				uint64_t created_ns);

#endif
