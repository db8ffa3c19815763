/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the injector: what a pod asks for, and the patch that does it.
 * The pod is text of other users: each type is checked, and whatever is odd
 * leaves the pod, or the container, unchanged.
 */
#ifndef KF_EXPORTER_INJECTOR_POD_H
#define KF_EXPORTER_INJECTOR_POD_H

#include "base/compiler.h"

#include <jansson.h>

struct kf_injection {
	const char *image;
	const json_t *pod;
	json_t *patch;	  /* operations of JSON Patch */
	json_t *warnings; /* strings */
	bool failed;	  /* out of memory */
};

/* What a list of the pod is: absent (or null), of objects only, or else. */
enum kf_list { KF_LIST_ABSENT, KF_LIST_RIGHT, KF_LIST_WRONG };

/**
 * kf_injection_list() - look at a list of the pod
 * @list:	the list, or NULL
 *
 * Return: what it is.
 */
enum kf_list kf_injection_list(const json_t *list);

/**
 * kf_injection_warn() - add a warning to the answer
 * @j:		the injection
 * @container:	the name of the container, or NULL for the pod
 * @fmt:	as printf's
 * @...:	as printf's
 */
void kf_injection_warn(struct kf_injection *j, const char *container,
		       const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * kf_injection_wanted() - whether the pod is to be changed
 * @j:		the injection; may get a warning
 *
 * Return: true if its annotations ask for the library and nothing in the pod as
 *a whole speaks against it.
 */
bool kf_injection_wanted(struct kf_injection *j);

/**
 * kf_injection_choose() - choose containers
 * @j:		the injection; may get warnings
 * @chosen:	out: for each container, whether it is to have the library
 * @nr:		containers, the size of @chosen
 *
 * Context: after kf_injection_wanted().
 */
void kf_injection_choose(struct kf_injection *j, bool *chosen, size_t nr);

/**
 * kf_injection_has() - whether a container has the library already
 * @container:	the container
 *
 * Return: true if its LD_PRELOAD names the library.
 */
bool kf_injection_has(const json_t *container);

/**
 * kf_injection_make() - make the patch of a pod
 * @j:		the injection: image, pod, and empty lists
 */
void kf_injection_make(struct kf_injection *j);

#endif
