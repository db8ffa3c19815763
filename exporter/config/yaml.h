/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading configuration in YAML, strictly: an unknown key, a key twice or a
 * value of another kind is an error, said in one line with file and line.
 *
 * Over libyaml's tree of nodes. Files are bounded in size, and aliases are
 * refused, so that no file grows when it is read.
 */
#ifndef KF_EXPORTER_CONFIG_YAML_H
#define KF_EXPORTER_CONFIG_YAML_H

#include "base/compiler.h"

#include <yaml.h>

/* A file that was read; @error is the first thing that was wrong. */
struct kf_yaml {
	const char *path;
	yaml_document_t doc;
	bool loaded;
	char error[512];
};

/* A key of a mapping, and who takes its value into @out. */
struct kf_yaml_key {
	const char *name;
	bool (*take)(struct kf_yaml *y, yaml_node_t *value, void *out);
};

/**
 * kf_yaml_load() - read a file
 * @y:		out: the tree, or what was wrong
 * @path:	the file; outlives @y
 *
 * Context: any thread.
 * Return: its root, or NULL with @y->error. Of an empty file NULL as well, with
 *	   an empty @y->error. kf_yaml_release() in any case.
 */
yaml_node_t *kf_yaml_load(struct kf_yaml *y, const char *path);

/**
 * kf_yaml_release() - free the tree
 * @y:		the file
 *
 * Context: any thread.
 */
void kf_yaml_release(struct kf_yaml *y);

/**
 * kf_yaml_fail() - say what is wrong
 * @y:		the file
 * @n:		where, or NULL
 * @fmt:	as printf's
 * @...:	likewise
 *
 * Context: any thread.
 * Return: false, always.
 */
bool kf_yaml_fail(struct kf_yaml *y, const yaml_node_t *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * kf_yaml_mapping() - take the values of known keys
 * @y:		the file
 * @n:		what should be a mapping; an empty value is an empty one
 * @keys:	what is allowed
 * @nr:		number of @keys, at most 32
 * @out:	handed on
 *
 * Context: any thread.
 * Return: false with @y->error.
 */
bool kf_yaml_mapping(struct kf_yaml *y, yaml_node_t *n,
		     const struct kf_yaml_key *keys, size_t nr, void *out);

/**
 * kf_yaml_pairs() - take all pairs of a mapping of strings
 * @y:		the file
 * @n:		what should be a mapping
 * @take:	called for each pair
 * @out:	handed on
 *
 * Context: any thread.
 * Return: false with @y->error.
 */
bool kf_yaml_pairs(struct kf_yaml *y, yaml_node_t *n,
		   bool (*take)(struct kf_yaml *y, yaml_node_t *at,
				const char *key, const char *value, void *out),
		   void *out);

/**
 * kf_yaml_list() - take all elements of a sequence
 * @y:		the file
 * @n:		what should be a sequence; an empty value is an empty one
 * @take:	called for each element
 * @out:	handed on
 *
 * Context: any thread.
 * Return: false with @y->error.
 */
bool kf_yaml_list(struct kf_yaml *y, yaml_node_t *n,
		  bool (*take)(struct kf_yaml *y, yaml_node_t *value,
			       void *out),
		  void *out);

/**
 * kf_yaml_text() - a node's text
 * @y:		the file
 * @n:		what should be a scalar
 *
 * Context: any thread.
 * Return: its text, which lives as long as @y; NULL with @y->error.
 */
const char *kf_yaml_text(struct kf_yaml *y, const yaml_node_t *n);

/**
 * kf_yaml_bool() - a node as true or false
 * @y:		the file
 * @n:		what should be true or false
 * @out:	out: which
 *
 * Context: any thread.
 * Return: false with @y->error.
 */
bool kf_yaml_bool(struct kf_yaml *y, const yaml_node_t *n, bool *out);

#endif
