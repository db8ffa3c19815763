/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the exporter says on stderr: one event a line, as logfmt or JSON.
 *
 * Promises: a line is written whole and at once, and no name in it can break
 * the line or the terminal. A line that stderr does not take is counted, and
 * the next one that it takes tells the number as lost_lines. Leaves it to the
 * callers to say a thing only once.
 */
#ifndef KF_EXPORTER_LOG_H
#define KF_EXPORTER_LOG_H

#include "base/compiler.h"

enum kf_log_level {
	KF_LOG_DEBUG,
	KF_LOG_INFO,
	KF_LOG_WARN,
	KF_LOG_ERROR,
	KF_NR_LOG_LEVELS
};
enum kf_log_format { KF_LOGFMT, KF_LOG_JSON, KF_NR_LOG_FORMATS };

extern const char *const kf_log_level_names[KF_NR_LOG_LEVELS];
extern const char *const kf_log_format_names[KF_NR_LOG_FORMATS];

/**
 * kf_log_setup() - choose what is said and how
 * @level:	the least level that is said
 * @format:	how a line looks
 *
 * Context: before there are threads.
 */
void kf_log_setup(enum kf_log_level level, enum kf_log_format format);

/**
 * kf_log() - say what happened
 * @level:	how much it matters
 * @msg:	the event, a constant phrase
 * @...:	keys and values in turn, all strings, then NULL
 *
 * Context: any thread; allocates. errno kept.
 */
void kf_log(enum kf_log_level level, const char *msg, ...)
	__attribute__((sentinel));

#endif
