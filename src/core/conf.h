/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of the library, read once from the environment.
 */
#ifndef KF_CORE_CONF_H
#define KF_CORE_CONF_H

#include "base/compiler.h"

struct kf_text;

#define KF_CONF_C_BOOL uint64_t
#define KF_CONF_C_SIZE uint64_t
#define KF_CONF_C_COUNT uint64_t
#define KF_CONF_C_STRING const char *
#define KF_CONF_C_ENGINE const char *
#define KF_CONF_C_ACTION uint64_t
#define KF_CONF_C_MATCH const char *
#define KF_CONF_C_LIMIT uint64_t

/* Values of the option on_error, in the order of its words. */
enum kf_on_error {
	KF_ON_ERROR_ABORT,
	KF_ON_ERROR_COUNT,
	KF_ON_ERROR_ABORT_ON_SIZE,
};

/*
 * One member an option; NULL strings are not set. Constant after start, and all
 * of it the library's own memory.
 */
struct kf_conf {
#define KF_CONF(id, kind, def, arg, help) KF_CONF_C_##kind id;
#include "core/conf.def"
#undef KF_CONF
	const char *runtime_dir; /* XDG_RUNTIME_DIR */
};

extern struct kf_conf kf_conf;

/**
 * kf_conf_read() - read all options
 *
 * Each value that is not allowed gets one line on stderr and its default. Texts
 * are copied: a forked child has what was in force here, whatever the program
 * has done to its environment. In a set-id program all stay at their defaults.
 *
 * Context: once, at start.
 */
void kf_conf_read(void);

/**
 * kf_conf_is_set() - whether a variable gave an option its value
 * @value:	the option, a member of kf_conf
 *
 * Context: any, after kf_conf_read().
 * Return: false where it has its default, and for texts.
 */
bool kf_conf_is_set(const void *value);

/**
 * kf_conf_begin_line() - begin the warning about the value of a variable
 * @text:	out: "konfiscator: NAME=VALUE: ", VALUE in printable ASCII
 * @buf:	where
 * @size:	bytes there, more than 256; a longer VALUE is cut to leave 256
 * @name:	NAME
 * @value:	VALUE, any text
 *
 * Context: any.
 */
void kf_conf_begin_line(struct kf_text *text, char *buf, size_t size,
			const char *name, const char *value);

#endif
