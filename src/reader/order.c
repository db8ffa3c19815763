/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders to a process, through its stats file: see order.h.
 */
#include "config.h"

#include "reader/order.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOKS_A_SECOND 50

#define AT(field) offsetof(struct kf_stats_control, field)

static void pause_a_moment(void)
{
	const struct timespec ts = {0, 1000000000 / LOOKS_A_SECOND};

	nanosleep(&ts, NULL);
}

static bool read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	ssize_t n = pread(fd, buf, size, (off_t)offset);

	if (n >= 0 && (size_t)n < size)
		errno = ESTALE;
	return n >= 0 && (size_t)n == size;
}

static bool write_at(int fd, const void *buf, size_t size, uint64_t offset)
{
	ssize_t n = pwrite(fd, buf, size, (off_t)offset);

	if (n >= 0 && (size_t)n < size)
		errno = EIO;
	return n >= 0 && (size_t)n == size;
}

/* Opens the file for writing if it is still the one that was read. */
static int order_open_file(const struct kf_file *f)
{
	int fd = openat(f->dirfd, f->name,
			O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_dev == f->snap.dev &&
	    st.st_ino == f->snap.ino)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* The offset of the control entry; 0: the file has none of this version. */
static uint64_t control_at(int fd)
{
	struct kf_stats_header h;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    !read_at(fd, &h, sizeof(h), 0) || h.magic != KF_STATS_MAGIC ||
	    h.major != KF_STATS_MAJOR || !h.control.nr ||
	    h.control.entry_size < sizeof(struct kf_stats_control) ||
	    (uint64_t)st.st_size <
		    h.control.offset + (uint64_t)h.control.entry_size)
		return 0;
	return h.control.offset;
}

/* Whether the process filters its system calls, by its status in procfs. */
static bool order_is_filtered(const char *procfs, int32_t pid)
{
	char path[PATH_MAX], line[256];
	bool filtered = false;
	FILE *status;

	snprintf(path, sizeof(path), "%s/%d/status", procfs, pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		if (!strncmp(line, "Seccomp:", 8))
			filtered = line[8 + strspn(line + 8, " \t")] != '0';
	}
	if (status)
		fclose(status);
	return filtered;
}

/* Whether the process installed a filter after its program began. */
static bool filters_itself(const char *procfs, const struct kf_file *f, int fd,
			   uint64_t at)
{
	uint32_t before;

	if (!read_at(fd, &before, sizeof(before), at + AT(filtered)))
		before = 0;
	return !before &&
	       order_is_filtered(procfs, f->pid ? f->pid : f->snap.id.pid);
}

/* Returns whether the lock was taken within this number of attempts. */
static bool order_lock(int fd, uint64_t looks)
{
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK || !looks--)
			return false;
		pause_a_moment();
	}
	return true;
}

static bool put_order(int fd, uint64_t at, const char *text, uint64_t *number,
		      struct kf_answer *answer)
{
	char *waits = answer->replaced;
	uint64_t answered;

	waits[0] = '\0';
	if (!read_at(fd, number, sizeof(*number), at + AT(request)) ||
	    !read_at(fd, &answered, sizeof(answered), at + AT(answer)))
		return false;
	if (answered != *number &&
	    !read_at(fd, waits, sizeof(answer->replaced), at + AT(text)))
		return false;
	waits[sizeof(answer->replaced) - 1] = '\0';
	++*number;
	return write_at(fd, text, strlen(text) + 1, at + AT(text)) &&
	       write_at(fd, number, sizeof(*number), at + AT(request));
}

/* The reply is untrusted: the process wrote it. */
static enum kf_order_result take_answer(int fd, uint64_t at,
					struct kf_answer *answer)
{
	uint32_t result;

	if (!read_at(fd, &result, sizeof(result), at + AT(result)) ||
	    !read_at(fd, answer->reply, sizeof(answer->reply), at + AT(reply)))
		return KF_ORDER_ERROR;
	answer->reply[sizeof(answer->reply) - 1] = '\0';
	answer->error = (int)result;
	return result ? KF_ORDER_REFUSED : KF_ORDER_DONE;
}

/*
 * The process may be about to carry it out. A number that went back could have
 * it do so twice: the number stays, and an empty order is refused.
 */
static enum kf_order_result order_withdraw(int fd, uint64_t at, uint64_t number,
					   struct kf_answer *answer)
{
	uint64_t answered;

	if (!write_at(fd, "", 1, at + AT(text)) ||
	    !read_at(fd, &answered, sizeof(answered), at + AT(answer)))
		return KF_ORDER_ERROR;
	return answered == number ? take_answer(fd, at, answer)
				  : KF_ORDER_WITHDRAWN;
}

static enum kf_order_result order_ask(int fd, uint64_t at, const char *text,
				      uint64_t looks, bool withdraw,
				      struct kf_answer *answer)
{
	uint64_t number, answered;

	if (!put_order(fd, at, text, &number, answer))
		return KF_ORDER_ERROR;
	while (looks--) {
		if (!read_at(fd, &answered, sizeof(answered), at + AT(answer)))
			return KF_ORDER_ERROR;
		if (answered == number)
			return take_answer(fd, at, answer);
		pause_a_moment();
	}
	return withdraw ? order_withdraw(fd, at, number, answer)
			: KF_ORDER_LATE;
}

bool kf_order_parse_sample(const char *text, uint64_t *mean)
{
	return kf_parse_size(text, mean) &&
	       (*mean < KF_SAMPLE_SMALL ||
		(*mean >= KF_SAMPLE_LEAST && *mean <= KF_SAMPLE_MOST));
}

enum kf_order_result kf_order_give(const char *procfs, const struct kf_file *f,
				   const char *text, uint64_t timeout_s,
				   unsigned int flags, struct kf_answer *answer)
{
	uint64_t looks = timeout_s * LOOKS_A_SECOND;
	enum kf_order_result r = KF_ORDER_ERROR;
	uint64_t at;
	int fd;

	if (strlen(text) >= KF_STATS_CONTROL_TEXT)
		return KF_ORDER_TOO_LONG;
	fd = order_open_file(f);
	if (fd < 0)
		return r;
	at = control_at(fd);
	if (!at)
		r = KF_ORDER_OLD;
	else if (!(flags & KF_ORDER_FORCE) && filters_itself(procfs, f, fd, at))
		r = KF_ORDER_FILTERED;
	else if (order_lock(fd, looks))
		r = order_ask(fd, at, text, looks, flags & KF_ORDER_WITHDRAW,
			      answer);
	close(fd);
	return r;
}

bool kf_order_refusal(enum kf_order_result result,
		      const struct kf_answer *answer,
		      char text[KF_ORDER_REFUSAL])
{
	const char *why;

	switch (result) {
	case KF_ORDER_DONE:
	case KF_ORDER_LATE:
		return false;
	case KF_ORDER_REFUSED:
		kf_escape(text, KF_ORDER_REFUSAL, answer->reply);
		return true;
	case KF_ORDER_FILTERED:
		why = "it filters its system calls (seccomp), and an order "
		      "might kill it: see konfiscator ctl --force";
		break;
	case KF_ORDER_OLD:
		why = "its library takes no orders";
		break;
	default:
		why = strerror(errno);
	}
	snprintf(text, KF_ORDER_REFUSAL, "%s", why);
	return true;
}
