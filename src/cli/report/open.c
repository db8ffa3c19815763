/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens a recording, and tells what it does not have.
 */
#include "config.h"

#include "cli/report/report.h"
#include "cli/zstd.h"
#include "reader/regular.h"

#include <errno.h>
#include <string.h>

/* Returns -1 if there is no recording, after a message. */
static int open_history(struct kf_report *r)
{
	int fd = kf_regular_open(r->path);

	r->history.fd = -1;
	if (fd < 0)
		return errno == ENOTSUP ? KF_READ_FOREIGN : KF_READ_ERROR;
	if (kf_zstd_is(fd))
		fd = kf_zstd_unpack(fd, r->path, KF_RECORD_MAGIC);
	if (fd == -2)
		return KF_READ_FOREIGN;
	return fd < 0 ? -1 : (int)kf_history_open_fd(fd, &r->history);
}

int kf_report_open(struct kf_report *r, const char *foreign)
{
	int result = open_history(r);
	const char *name = r->cli->command->name;

	switch (result) {
	case -1:
		break;
	case KF_READ_OK:
		r->pick.from = KF_MAX(r->pick.from, r->history.kept_from);
		return 0;
	case KF_READ_ERROR:
		kf_error("%s: %s: %s", name, r->path, strerror(errno));
		break;
	case KF_READ_FOREIGN:
		kf_error("%s: %s: %s", name, r->path, foreign);
		break;
	case KF_READ_INCOMPATIBLE:
		kf_error("%s: %s: recording version %u is not supported: "
			 "this konfiscator reads version %u",
			 name, r->path, r->history.head.major, KF_RECORD_MAJOR);
		break;
	case KF_READ_NOT_READY:
		kf_error("%s: %s: no header yet: the recording is "
			 "starting, or its program was killed at its start",
			 name, r->path);
		break;
	default:
		kf_error("%s: %s: the recording's header is damaged", name,
			 r->path);
	}
	return KF_EXIT_FAILED;
}

/* @error is the errno that the writer stopped with. */
static const char *when_full(uint32_t error)
{
	switch (error) {
	case EPERM:
		return ", when the program filtered its system calls or changed "
		       "its user, and the file could not grow";
	case ESTALE:
		return ", when the file was removed or cut short";
	default:
		return ", when the file was full";
	}
}

static void tell_dropped(const struct kf_report *r)
{
	const struct kf_history *h = &r->history;
	const struct kf_record_header *head = &h->head;
	const char *why = head->full ? strerror((int)head->full) : "";
	uint64_t end = head->full_at - head->begin.ticks;

	if (h->dropped && head->full_at > head->begin.ticks)
		kf_note(r->cli,
			"%s: the recording ends after %.9g s%s: "
			"%llu later events are missing: %s",
			r->cli->command->name,
			(double)kf_history_ns(h, end) / 1e9,
			when_full(head->full), (unsigned long long)h->dropped,
			why);
	else if (h->dropped)
		kf_note(r->cli, "%s: %llu events were not recorded%s%s",
			r->cli->command->name, (unsigned long long)h->dropped,
			*why ? ": " : "", why);
}

/* Blocks of before are not known: neither how many, nor how large. */
static void tell_ring(const struct kf_report *r)
{
	const struct kf_history *h = &r->history;

	if (!h->kept_from)
		return;
	kf_note(r->cli,
		"%s: the recording keeps its end: it begins after %.9g s, "
		"earlier events were overwritten, and blocks that were live "
		"then are unknown and left out: %llu of them were freed later",
		r->cli->command->name, (double)h->kept_from / 1e9,
		(unsigned long long)r->replay.from_before);
	if (h->damage.gone)
		kf_note(r->cli,
			"%s: %llu chunks were overwritten while they were "
			"read, so figures are wrong: end the recording before, "
			"with konfiscator ctl %d record=off",
			r->cli->command->name,
			(unsigned long long)h->damage.gone,
			h->head.identity.pid);
}

void kf_report_tell_losses(const struct kf_report *r)
{
	const struct kf_history_damage *d = &r->history.damage;

	tell_dropped(r);
	tell_ring(r);
	if (d->bad_chunks || d->cut_chunks || d->missing)
		kf_note(r->cli,
			"%s: damaged: %llu chunks unreadable, %llu cut "
			"short, %llu missing",
			r->cli->command->name,
			(unsigned long long)d->bad_chunks,
			(unsigned long long)d->cut_chunks,
			(unsigned long long)d->missing);
}
