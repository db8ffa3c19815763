/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process of a stats file: see file-process.h.
 */
#include "config.h"

#include "reader/claim.h"
#include "reader/file-process.h"
#include "reader/proc.h"

#include <string.h>
#include <unistd.h>

static void note_memory(struct kf_file *f, const struct kf_statm *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	f->resident = m->resident * page;
	f->shared = m->shared * page;
}

static bool still_alive(struct kf_life_view *view, struct kf_file *f,
			bool memory)
{
	struct kf_statm m;

	if (!f->cached ||
	    !kf_cached_file_is_alive(view, f->cached, &f->snap, f->dirfd, &m))
		return false;
	f->life = KF_LIFE_ALIVE;
	f->firm = f->cached->firm;
	f->pid = f->cached->pid;
	memcpy(f->comm, view->comm, sizeof(f->comm));
	if (memory)
		note_memory(f, &m);
	return true;
}

void kf_file_set_conflict(struct kf_file *f)
{
	f->snap.result = KF_READ_CONFLICT;
	f->life = KF_LIFE_UNKNOWN;
	f->pid = 0;
}

/* Whether the file is believed about its process: see claim.h. */
static bool may_claim(struct kf_life_view *view, struct kf_file *f)
{
	enum kf_claim claim;

	if (f->life != KF_LIFE_ALIVE)
		return !kf_claim_lies(view, &f->snap.id, f->snap.owner);
	claim = kf_claim_of(view, f->pid, f->snap.owner);
	f->firm = claim == KF_CLAIM_WHOLE;
	return claim != KF_CLAIM_NONE;
}

bool kf_file_find_process(struct kf_life_view *view, struct kf_file *f,
			  bool memory)
{
	struct kf_statm m;
	int procfd;

	if (still_alive(view, f, memory))
		return true;
	view->unsure = false;
	f->life = kf_life_of(view, &f->snap.id, f->dirfd, f->name, &f->pid);
	if (view->unsure)
		return false;
	if (!may_claim(view, f))
		kf_file_set_conflict(f);
	if (!f->pid)
		return true;
	if (f->cached)
		kf_cached_file_store_process(view, f->cached, f);
	memcpy(f->comm, view->comm, sizeof(f->comm));
	if (!memory)
		return true;
	procfd = kf_proc_open(view->procfd, f->pid);
	if (kf_statm_read(procfd, &m))
		note_memory(f, &m);
	if (procfd >= 0)
		close(procfd);
	return true;
}
