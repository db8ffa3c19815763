/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of the library as the commands set them: names, allowed values
 * and variables, made from core/conf.def by the library's own rules.
 */
#ifndef KF_CLI_COMMANDS_CONF_H
#define KF_CLI_COMMANDS_CONF_H

#include "base/compiler.h"

#include <stddef.h>

enum kf_conf_kind {
	KF_CONF_BOOL,
	KF_CONF_SIZE,
	KF_CONF_COUNT,
	KF_CONF_STRING,
	KF_CONF_ENGINE,
	KF_CONF_ACTION,
	KF_CONF_MATCH,
	KF_CONF_LIMIT
};

struct kf_conf_option {
	const char *id;
	enum kf_conf_kind kind;
	const char *argument;
};

/* The places of the options in kf_conf_options. */
enum kf_conf_id {
#define KF_CONF(id, kind, fallback, argument, text) KF_CONF_ID_##id,
#include "core/conf.def"
#undef KF_CONF
	KF_NR_CONF
};

extern const struct kf_conf_option kf_conf_options[KF_NR_CONF];

/**
 * kf_conf_refusal() - what is allowed where a value is not
 * @id:		the option
 * @value:	its value, not empty
 *
 * Return: words for a message; NULL if the library takes the value.
 */
const char *kf_conf_refusal(enum kf_conf_id id, const char *value);

/**
 * kf_conf_find() - an option by its name
 * @name:	as in conf.def, or with dashes
 * @len:	bytes of @name
 *
 * Return: the option, or KF_NR_CONF.
 */
enum kf_conf_id kf_conf_find(const char *name, size_t len);

/**
 * kf_conf_variable() - the variable of the environment of an option
 * @id:		its name in conf.def
 *
 * Return: "KONFISCATOR_ID", to free().
 */
char *kf_conf_variable(const char *id);

#endif
