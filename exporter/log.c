/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log. Names pass through kf_escape() first; after that both formats need
 * the same quoting.
 */
#include "config.h"

#include "exporter/log.h"
#include "exporter/buf.h"
#include "reader/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const kf_log_level_names[KF_NR_LOG_LEVELS] = {"debug", "info",
							  "warn", "error"};
const char *const kf_log_format_names[KF_NR_LOG_FORMATS] = {"logfmt", "json"};

static enum kf_log_level min_level = KF_LOG_INFO;
static enum kf_log_format line_format = KF_LOGFMT;

/* Lines lost since the last line that was written. */
static atomic_uint lost_lines;

void kf_log_setup(enum kf_log_level level, enum kf_log_format format)
{
	min_level = level;
	line_format = format;
}

static void log_add_pair(struct kf_buf *b, const char *key, const char *value)
{
	char clean[1024];

	kf_escape(clean, sizeof(clean), value);
	if (line_format == KF_LOG_JSON) {
		kf_buf_fmt(b, "%s\"%s\":\"", b->len ? "," : "{", key);
		kf_buf_escape(b, clean, true);
		kf_buf_str(b, "\"");
		return;
	}
	kf_buf_fmt(b, "%s%s=", b->len ? " " : "", key);
	if (*clean && !strpbrk(clean, " =\"\\")) {
		kf_buf_str(b, clean);
		return;
	}
	kf_buf_str(b, "\"");
	kf_buf_escape(b, clean, true);
	kf_buf_str(b, "\"");
}

static void log_add_time(struct kf_buf *b)
{
	struct timespec now;
	char day[32], text[48];
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", day, now.tv_nsec / 1000000);
	log_add_pair(b, "ts", text);
}

/* Return false if the line was lost, as on a full disk or pipe. */
static bool log_put(const struct kf_buf *b)
{
	ssize_t n;

	do
		n = write(STDERR_FILENO, b->data, b->len);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

void kf_log(enum kf_log_level level, const char *msg, ...)
{
	struct kf_buf b = {0};
	char number[16];
	unsigned int missed;
	int error = errno;
	const char *key;
	va_list ap;

	if (level < min_level)
		return;
	log_add_time(&b);
	log_add_pair(&b, "level", kf_log_level_names[level]);
	log_add_pair(&b, "msg", msg);
	va_start(ap, msg);
	while ((key = va_arg(ap, const char *)))
		log_add_pair(&b, key, va_arg(ap, const char *));
	va_end(ap);
	missed = atomic_exchange(&lost_lines, 0);
	if (missed) {
		snprintf(number, sizeof(number), "%u", missed);
		log_add_pair(&b, "lost_lines", number);
	}
	kf_buf_str(&b, line_format == KF_LOG_JSON ? "}\n" : "\n");
	if (b.failed || !log_put(&b))
		atomic_fetch_add(&lost_lines, missed + 1);
	kf_buf_free(&b);
	errno = error;
}
