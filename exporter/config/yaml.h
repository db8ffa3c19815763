/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A strict reader of YAML configuration: an unknown key, a duplicate key or a
 * value of the wrong kind is an error, reported in one line with file and line.
 *
 * It uses libyaml's tree of nodes. The size of files is limited, and aliases
 * are refused.
 */
#ifndef KF_EXPORTER_CONFIG_YAML_H
#define KF_EXPORTER_CONFIG_YAML_H

#include "base/compiler.h"

#include <yaml.h>

/* A file that was read; @error is the first error. */
struct kf_yaml {
	const char *path;
	yaml_document_t doc;
	bool loaded;
	char error[512];
};

/* A key of a mapping, and the function that stores its value in @out. */
struct kf_yaml_key {
	const char *name;
	bool (*take)(struct kf_yaml *y, yaml_node_t *value, void *out);
};

/**
 * kf_yaml_load() - read a file
 * @y:		out: the tree, or the error
 * @path:	the file; outlives @y
 *
 * Return: its root, or NULL with @y->error. For an empty file NULL with an
 *	   empty @y->error. Call kf_yaml_release() in any case.
 */
yaml_node_t *kf_yaml_load(struct kf_yaml *y, const char *path);

/**
 * kf_yaml_release() - free the tree
 * @y:		the file
 */
void kf_yaml_release(struct kf_yaml *y);

/**
 * kf_yaml_fail() - set an error
 * @y:		the file
 * @n:		position, or NULL
 * @fmt:	as printf's
 * @...:	likewise
 *
 * Return: false, always.
 */
bool kf_yaml_fail(struct kf_yaml *y, const yaml_node_t *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * kf_yaml_mapping() - process a mapping with known keys
 * @y:		the file
 * @n:		the mapping; an empty value counts as an empty mapping
 * @keys:	allowed keys
 * @nr:		number of @keys, at most 32
 * @out:	passed to the functions
 *
 * Return: false with @y->error.
 */
bool kf_yaml_mapping(struct kf_yaml *y, yaml_node_t *n,
		     const struct kf_yaml_key *keys, size_t nr, void *out);

/**
 * kf_yaml_pairs() - process all pairs of a mapping of strings
 * @y:		the file
 * @n:		the mapping
 * @take:	called for each pair
 * @out:	passed to the functions
 *
 * Return: false with @y->error.
 */
bool kf_yaml_pairs(struct kf_yaml *y, yaml_node_t *n,
		   bool (*take)(struct kf_yaml *y, yaml_node_t *at,
				const char *key, const char *value, void *out),
		   void *out);

/**
 * kf_yaml_list() - process all elements of a sequence
 * @y:		the file
 * @n:		the sequence; an empty value counts as an empty sequence
 * @take:	called for each element
 * @out:	passed to the functions
 *
 * Return: false with @y->error.
 */
bool kf_yaml_list(struct kf_yaml *y, yaml_node_t *n,
		  bool (*take)(struct kf_yaml *y, yaml_node_t *value,
			       void *out),
		  void *out);

/**
 * kf_yaml_text() - get a node's text
 * @y:		the file
 * @n:		the scalar
 *
 * Return: its text, which lives as long as @y; NULL with @y->error.
 */
const char *kf_yaml_text(struct kf_yaml *y, const yaml_node_t *n);

/**
 * kf_yaml_bool() - get a node as true or false
 * @y:		the file
 * @n:		the scalar
 * @out:	out: the value
 *
 * Return: false with @y->error.
 */
bool kf_yaml_bool(struct kf_yaml *y, const yaml_node_t *n, bool *out);

#endif
