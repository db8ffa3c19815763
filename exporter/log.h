/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log on stderr: one event a line, as logfmt or JSON.
 *
 * A line is written by one write(2), and no name in it can break the line or
 * the terminal. Lines that cannot be written are counted, and the next line has
 * their number as lost_lines. Callers avoid repeated messages.
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
 * kf_log_setup() - set level and format of the log
 * @level:	lowest level that is logged
 * @format:	format of a line
 *
 * Context: before there are threads.
 */
void kf_log_setup(enum kf_log_level level, enum kf_log_format format);

/**
 * kf_log() - log an event
 * @level:	its level
 * @msg:	the event, a constant phrase
 * @...:	keys and values in turn, all strings, then NULL
 *
 * Context: any thread; allocates. errno kept.
 */
void kf_log(enum kf_log_level level, const char *msg, ...)
	__attribute__((sentinel));

#endif
