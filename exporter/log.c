/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log. Names pass through kf_escape() first, so that what is left to
 * quote is the same for both formats.
 */
#include "config.h"

#include "exporter/log.h"
#include "exporter/buf.h"
#include "reader/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const kf_log_level_names[KF_NR_LOG_LEVELS] = {"debug", "info",
							  "warn", "error"};
const char *const kf_log_format_names[KF_NR_LOG_FORMATS] = {"logfmt", "json"};

static enum kf_log_level least = KF_LOG_INFO;
static enum kf_log_format form = KF_LOGFMT;

void kf_log_setup(enum kf_log_level level, enum kf_log_format format)
{
	least = level;
	form = format;
}

static void add_pair(struct kf_buf *b, const char *key, const char *value)
{
	char clean[1024];

	kf_escape(clean, sizeof(clean), value);
	if (form == KF_LOG_JSON) {
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

static void add_time(struct kf_buf *b)
{
	struct timespec now;
	char day[32], text[48];
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", day, now.tv_nsec / 1000000);
	add_pair(b, "ts", text);
}

void kf_log(enum kf_log_level level, const char *msg, ...)
{
	struct kf_buf b = {0};
	int error = errno;
	const char *key;
	va_list ap;

	if (level < least)
		return;
	add_time(&b);
	add_pair(&b, "level", kf_log_level_names[level]);
	add_pair(&b, "msg", msg);
	va_start(ap, msg);
	while ((key = va_arg(ap, const char *)))
		add_pair(&b, key, va_arg(ap, const char *));
	va_end(ap);
	kf_buf_str(&b, form == KF_LOG_JSON ? "}\n" : "\n");
	/* Nobody is left to tell when stderr itself cannot be written. */
	if (!b.failed && write(STDERR_FILENO, b.data, b.len) < 0)
		least = KF_NR_LOG_LEVELS;
	kf_buf_free(&b);
	errno = error;
}
