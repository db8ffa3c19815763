/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment, readable before libc has set itself up.
 */
#ifndef KF_SYS_ENV_H
#define KF_SYS_ENV_H

#include "base/compiler.h"

/**
 * kf_env_is_trusted() - whether the process' own user set the environment
 *
 * Context: any.
 * Return: false in set-id programs and those with file capabilities.
 */
bool kf_env_is_trusted(void);

/**
 * kf_env_get() - a variable of the environment the process started with
 * @name:	its name
 *
 * Context: any, before libc's own start too (then /proc is read into a
 *	    static buffer). Keeps errno.
 * Return: the value, or NULL, whether or not the environment is trusted.
 */
const char *kf_env_get(const char *name);

/**
 * kf_env_each() - call a function for variables whose names begin alike
 * @prefix:	the begin of the names
 * @each:	gets each whole name and its bytes
 *
 * Context: as kf_env_get(), which was called before.
 */
void kf_env_each(const char *prefix,
		 void (*each)(const char *name, size_t len));

#endif
