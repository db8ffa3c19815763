/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a pod asks for, in its annotations:
 *
 *	konfiscator.io/inject: "true"
 *	konfiscator.io/container-names: NAME,... or "*"
 *	konfiscator.io/libc: "glibc" (the default) or "musl"
 *
 * Without names it is the container that kubectl uses by default: that of the
 * annotation kubectl.kubernetes.io/default-container, which injectors of other
 * containers set, or the first.
 */
#include "config.h"

#include "exporter/buf.h"
#include "exporter/injector/pod.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INJECT "konfiscator.io/inject"
#define NAMES "konfiscator.io/container-names"
#define LIBC "konfiscator.io/libc"
#define DEFAULT_NAME "kubectl.kubernetes.io/default-container"
#define MIRROR "kubernetes.io/config.mirror"
#define SHOWN 64 /* bytes of a name in a warning */

enum kf_list kf_injection_list(const json_t *list)
{
	const json_t *item;
	size_t i;

	if (!list || json_is_null(list))
		return KF_LIST_ABSENT;
	if (!json_is_array(list))
		return KF_LIST_WRONG;
	json_array_foreach(list, i, item)
	{
		if (!json_is_object(item))
			return KF_LIST_WRONG;
	}
	return KF_LIST_RIGHT;
}

void kf_injection_warn(struct kf_injection *j, const char *container,
		       const char *fmt, ...)
{
	char given[256], shown[256], line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(given, sizeof(given), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "konfiscator: %s%.*s%s%s",
		 container ? "container " : "", SHOWN,
		 container ? container : "", container ? ": " : "", given);
	line[strcspn(line, "\n")] = '\0';
	kf_utf8_clean(shown, sizeof(shown), line);
	if (json_array_append_new(j->warnings, json_string(shown)) != 0)
		j->failed = true;
}

/* Return: the annotation; NULL if there is none, or no text. */
static const char *choose_annotation(const struct kf_injection *j,
				     const char *name)
{
	const json_t *metadata = json_object_get(j->pod, "metadata");
	const json_t *all = json_object_get(metadata, "annotations");

	return json_string_value(json_object_get(all, name));
}

static bool choose_is_text(const char *text, const char *wanted)
{
	return text && strcmp(text, wanted) == 0;
}

static bool choose_is_asked(struct kf_injection *j)
{
	const char *inject = choose_annotation(j, INJECT);

	if (!inject || strcmp(inject, "false") == 0)
		return false;
	if (strcmp(inject, "true") == 0)
		return true;
	kf_injection_warn(j, NULL, INJECT ": '%.*s' is not true or false",
			  SHOWN, inject);
	return false;
}

/* The library is for glibc; musl programs would ignore it (pod.c). */
static bool choose_is_glibc(struct kf_injection *j)
{
	const char *libc = choose_annotation(j, LIBC);

	if (!libc || strcmp(libc, "glibc") == 0)
		return true;
	if (strcmp(libc, "musl") == 0)
		kf_injection_warn(j, NULL,
				  "the library needs glibc, and " LIBC
				  " says musl");
	else
		kf_injection_warn(j, NULL, LIBC ": '%.*s' is not glibc or musl",
				  SHOWN, libc);
	return false;
}

static bool choose_is_linux(struct kf_injection *j, const json_t *spec)
{
	const json_t *os = json_object_get(spec, "os");
	const json_t *selector = json_object_get(spec, "nodeSelector");
	const char *name = json_string_value(json_object_get(os, "name"));
	const char *node = json_string_value(
		json_object_get(selector, "kubernetes.io/os"));

	if ((!name || strcmp(name, "linux") == 0) &&
	    (!node || strcmp(node, "linux") == 0))
		return true;
	kf_injection_warn(j, NULL, "the pod is not for Linux");
	return false;
}

static bool choose_has_right_lists(struct kf_injection *j, const json_t *spec)
{
	static const char *const lists[] = {"initContainers", "volumes"};
	const json_t *containers = json_object_get(spec, "containers");
	size_t i;

	if (kf_injection_list(containers) != KF_LIST_RIGHT ||
	    !json_array_size(containers)) {
		kf_injection_warn(
			j, NULL, "spec.containers is not a list of containers");
		return false;
	}
	for (i = 0; i < KF_ARRAY_SIZE(lists); i++) {
		if (kf_injection_list(json_object_get(spec, lists[i])) !=
		    KF_LIST_WRONG)
			continue;
		kf_injection_warn(j, NULL, "spec.%s is not a list of objects",
				  lists[i]);
		return false;
	}
	return true;
}

bool kf_injection_wanted(struct kf_injection *j)
{
	const json_t *spec = json_object_get(j->pod, "spec");

	if (!choose_is_asked(j) || !choose_is_glibc(j))
		return false;
	if (choose_annotation(j, MIRROR)) {
		kf_injection_warn(j, NULL, "static pods cannot be changed");
		return false;
	}
	return choose_has_right_lists(j, spec) && choose_is_linux(j, spec);
}

static const json_t *choose_containers(const struct kf_injection *j)
{
	return json_object_get(json_object_get(j->pod, "spec"), "containers");
}

static void choose_named(struct kf_injection *j, const char *name, size_t len,
			 bool *chosen)
{
	const json_t *c;
	bool found = false;
	size_t i;

	json_array_foreach(choose_containers(j), i, c)
	{
		const char *is = json_string_value(json_object_get(c, "name"));

		if (!is || strlen(is) != len || strncmp(is, name, len) != 0)
			continue;
		chosen[i] = true;
		found = true;
	}
	if (!found)
		kf_injection_warn(j, NULL,
				  NAMES ": there is no container '%.*s'",
				  (int)KF_MIN(len, (size_t)SHOWN), name);
}

static void choose_all_named(struct kf_injection *j, const char *names,
			     bool *chosen)
{
	const char *separators = ", \t";

	for (names += strspn(names, separators); *names;
	     names += strspn(names, separators)) {
		size_t len = strcspn(names, separators);

		choose_named(j, names, len, chosen);
		names += len;
	}
}

/* Once any container has the library, there is no other choice. */
static void choose_default(struct kf_injection *j, bool *chosen)
{
	const char *name = choose_annotation(j, DEFAULT_NAME);
	const json_t *c;
	size_t i, first = 0;

	json_array_foreach(choose_containers(j), i, c)
	{
		if (kf_injection_has(c))
			return;
		if (name && choose_is_text(json_string_value(
						   json_object_get(c, "name")),
					   name))
			first = i;
	}
	chosen[first] = true;
}

void kf_injection_choose(struct kf_injection *j, bool *chosen, size_t nr)
{
	const char *names = choose_annotation(j, NAMES);

	memset(chosen, 0, nr * sizeof(*chosen));
	if (!names)
		choose_default(j, chosen);
	else if (strcmp(names, "*") == 0)
		memset(chosen, true, nr * sizeof(*chosen));
	else
		choose_all_named(j, names, chosen);
}
