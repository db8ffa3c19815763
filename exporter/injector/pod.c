/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The patch of a pod, as of RFC 6902: an init container copies the library from
 * its image into a volume, which each chosen container mounts and preloads; a
 * second volume has the stats files.
 *
 * The path in LD_PRELOAD has the token $LIB, which the loader of glibc replaces
 * by the directory of its libraries, and that of musl does not: under musl the
 * path does not exist and is ignored, whereas the library would end the
 * program.
 *
 * The init container ends well even if it could not copy: then the loader of
 * glibc reports a missing object, and the program starts without.
 */
#include "config.h"

#include "exporter/injector/pod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SONAME "libkonfiscator.so"
#define LIBRARY SONAME ".1"
#define TOP "/konfiscator"
#define LIB_DIR TOP "/lib"
#define STATS_DIR TOP "/stats"
#define LIB_VOLUME "konfiscator-lib"
#define STATS_VOLUME "konfiscator-stats"
#define INIT_NAME "konfiscator-library"
#define PRELOAD LIB_DIR "/$LIB/" LIBRARY
#define MAX_PRELOAD 65536 /* bytes; execve() refuses more than 128 KiB */
#define NOBODY 65534

/* The values of $LIB in Debian's family (two machines), Red Hat's and others */
#define COPY                                                                 \
	"cd " LIB_DIR " && cp -f " KF_LIBRARY " " LIBRARY " && "             \
	"for d in lib lib64 lib/x86_64-linux-gnu lib/aarch64-linux-gnu; do " \
	"mkdir -p $d && ln -sf " LIB_DIR "/" LIBRARY " $d/; done || "        \
	"echo 'the pod starts without the library' >&2"

static const char *pod_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Return: how many of the list have this name, and in @at the last of them. */
static size_t pod_count_named(const json_t *list, const char *name, size_t *at)
{
	const json_t *item;
	size_t i, nr = 0;

	json_array_foreach(list, i, item)
	{
		if (strcmp(pod_text(item, "name"), name) != 0)
			continue;
		*at = i;
		nr++;
	}
	return nr;
}

static const json_t *pod_named(const json_t *list, const char *name)
{
	size_t at;

	return pod_count_named(list, name, &at) ? json_array_get(list, at)
						: NULL;
}

/* Add an operation; @value is taken over, and NULL without memory. */
static void pod_add(struct kf_injection *j, const char *path, json_t *value)
{
	json_t *o = json_pack("{s:s, s:s, s:o*}", "op", "add", "path", path,
			      "value", value);

	if (!value || !o || json_array_append(j->patch, o) != 0)
		j->failed = true;
	json_decref(o);
}

/* Add to a list at its end, or at its begin; make it if there is none. */
static void pod_add_item(struct kf_injection *j, const char *list, bool *exists,
			 bool first, json_t *value)
{
	char path[128];

	if (!*exists)
		pod_add(j, list, json_array());
	*exists = true;
	snprintf(path, sizeof(path), "%s/%s", list, first ? "0" : "-");
	pod_add(j, path, value);
}

bool kf_injection_has(const json_t *container)
{
	const json_t *v =
		pod_named(json_object_get(container, "env"), "LD_PRELOAD");

	return strstr(pod_text(v, "value"), SONAME) != NULL;
}

/* Whether names that are ours belong to another. */
static bool pod_is_taken(struct kf_injection *j, const json_t *spec)
{
	const json_t *volumes = json_object_get(spec, "volumes");
	const json_t *inits = json_object_get(spec, "initContainers");
	const json_t *lib = pod_named(volumes, LIB_VOLUME);
	const json_t *stats = pod_named(volumes, STATS_VOLUME);
	const json_t *init = pod_named(inits, INIT_NAME);

	if ((lib && !json_is_object(json_object_get(lib, "emptyDir"))) ||
	    (stats && !json_is_object(json_object_get(stats, "emptyDir")))) {
		kf_injection_warn(j, NULL,
				  "the pod has another volume " LIB_VOLUME
				  " or " STATS_VOLUME);
		return true;
	}
	if ((init &&
	     !pod_named(json_object_get(init, "volumeMounts"), LIB_VOLUME)) ||
	    pod_named(json_object_get(spec, "containers"), INIT_NAME)) {
		kf_injection_warn(j, NULL,
				  "the pod has another container " INIT_NAME);
		return true;
	}
	return false;
}

/* Whether a volume is mounted where ours are, other than ours. */
static bool pod_mounts_another(const json_t *mounts)
{
	const json_t *m;
	size_t i;

	json_array_foreach(mounts, i, m)
	{
		const char *path = pod_text(m, "mountPath");
		const char *name = pod_text(m, "name");

		if ((strcmp(path, LIB_DIR) == 0 &&
		     strcmp(name, LIB_VOLUME) == 0) ||
		    (strcmp(path, STATS_DIR) == 0 &&
		     strcmp(name, STATS_VOLUME) == 0))
			continue;
		path += strspn(path, "/");
		if (strncmp(path, TOP + 1, strlen(TOP + 1)) == 0 &&
		    strchr("/", path[strlen(TOP + 1)]))
			return true;
	}
	return false;
}

/* Return: NULL, or why the variable cannot be changed. */
static const char *pod_refuse_preload(const json_t *env)
{
	const json_t *value;
	size_t at, nr = pod_count_named(env, "LD_PRELOAD", &at);

	if (!nr)
		return NULL;
	if (nr > 1)
		return "it has LD_PRELOAD more than once";
	value = json_object_get(json_array_get(env, at), "value");
	if (json_object_get(json_array_get(env, at), "valueFrom"))
		return "its LD_PRELOAD is set by valueFrom";
	if (value && !json_is_string(value))
		return "its LD_PRELOAD is not a string";
	return json_string_length(value) > MAX_PRELOAD
		       ? "its LD_PRELOAD is too long"
		       : NULL;
}

/* Return: NULL, or why the container stays unchanged. */
static const char *pod_refuse_container(const json_t *c)
{
	const json_t *env = json_object_get(c, "env");
	const json_t *mounts = json_object_get(c, "volumeMounts");

	if (kf_injection_list(env) == KF_LIST_WRONG)
		return "env is not a list of variables";
	if (kf_injection_list(mounts) == KF_LIST_WRONG)
		return "volumeMounts is not a list of mounts";
	if (pod_mounts_another(mounts))
		return "it has another volume at or below " TOP;
	return pod_refuse_preload(env);
}

/* Ours is first, as the first malloc is used. */
static void pod_preload(struct kf_injection *j, const char *list,
			const json_t *env, bool *exists)
{
	char path[128];
	const char *old;
	size_t at;

	if (!pod_count_named(env, "LD_PRELOAD", &at)) {
		pod_add_item(j, list, exists, false,
			     json_pack("{s:s, s:s}", "name", "LD_PRELOAD",
				       "value", PRELOAD));
		return;
	}
	old = pod_text(json_array_get(env, at), "value");
	snprintf(path, sizeof(path), "%s/%zu/value", list, at);
	pod_add(j, path,
		*old ? json_sprintf("%s:%s", PRELOAD, old)
		     : json_string(PRELOAD));
}

static void pod_set_env(struct kf_injection *j, const json_t *c, size_t i)
{
	const json_t *env = json_object_get(c, "env");
	bool exists = kf_injection_list(env) == KF_LIST_RIGHT;
	char list[64];

	snprintf(list, sizeof(list), "/spec/containers/%zu/env", i);
	pod_preload(j, list, env, &exists);
	if (!pod_named(env, "KONFISCATOR_DIR"))
		pod_add_item(j, list, &exists, false,
			     json_pack("{s:s, s:s}", "name", "KONFISCATOR_DIR",
				       "value", STATS_DIR));
}

static void pod_set_mounts(struct kf_injection *j, const json_t *c, size_t i)
{
	const json_t *mounts = json_object_get(c, "volumeMounts");
	bool exists = kf_injection_list(mounts) == KF_LIST_RIGHT;
	char list[64];

	snprintf(list, sizeof(list), "/spec/containers/%zu/volumeMounts", i);
	if (!pod_named(mounts, LIB_VOLUME))
		pod_add_item(j, list, &exists, false,
			     json_pack("{s:s, s:s, s:b}", "name", LIB_VOLUME,
				       "mountPath", LIB_DIR, "readOnly", 1));
	if (!pod_named(mounts, STATS_VOLUME))
		pod_add_item(j, list, &exists, false,
			     json_pack("{s:s, s:s}", "name", STATS_VOLUME,
				       "mountPath", STATS_DIR));
}

static void pod_add_volumes(struct kf_injection *j, const json_t *spec)
{
	static const char *const names[] = {LIB_VOLUME, STATS_VOLUME};
	const json_t *volumes = json_object_get(spec, "volumes");
	bool exists = kf_injection_list(volumes) == KF_LIST_RIGHT;
	size_t i;

	/* without limits of size, at which the pod would be evicted */
	for (i = 0; i < KF_ARRAY_SIZE(names); i++) {
		if (!pod_named(volumes, names[i]))
			pod_add_item(j, "/spec/volumes", &exists, false,
				     json_pack("{s:s, s:{}}", "name", names[i],
					       "emptyDir"));
	}
}

/*
 * The container's own limits are within all quotas and ranges of the namespace,
 * and keep the pod's class of service. Init containers run before, so that the
 * pod does not need more. Devices are left out.
 */
static json_t *pod_resources(const json_t *c)
{
	static const char *const kinds[] = {"requests", "limits"};
	static const char *const names[] = {"cpu", "memory",
					    "ephemeral-storage"};
	const json_t *theirs = json_object_get(c, "resources");
	json_t *ours = json_object();
	size_t i, k;

	for (i = 0; i < KF_ARRAY_SIZE(kinds); i++) {
		const json_t *from = json_object_get(theirs, kinds[i]);
		json_t *to = json_object();

		for (k = 0; k < KF_ARRAY_SIZE(names); k++) {
			json_t *value = json_object_get(from, names[k]);

			if (json_is_string(value) || json_is_number(value))
				json_object_set(to, names[k], value);
		}
		if (json_object_size(to))
			json_object_set(ours, kinds[i], to);
		json_decref(to);
	}
	return ours;
}

/* A cluster may allow only users of a range, of which the container's is. */
static json_int_t pod_user(const json_t *spec, const json_t *c)
{
	const json_t *of[] = {json_object_get(c, "securityContext"),
			      json_object_get(spec, "securityContext")};
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(of); i++) {
		json_int_t user =
			json_integer_value(json_object_get(of[i], "runAsUser"));

		if (user > 0)
			return user;
	}
	return NOBODY;
}

static void pod_add_init(struct kf_injection *j, const json_t *spec,
			 const json_t *c)
{
	const json_t *inits = json_object_get(spec, "initContainers");
	bool exists = kf_injection_list(inits) == KF_LIST_RIGHT;

	if (pod_named(inits, INIT_NAME))
		return;
	pod_add_item(j, "/spec/initContainers", &exists, true,
		     json_pack("{s:s, s:s, s:s, s:[sss], s:o,"
			       " s:{s:b, s:b, s:b, s:I, s:{s:[s]}, s:{s:s}},"
			       " s:[{s:s, s:s}]}",
			       "name", INIT_NAME, "image", j->image,
			       "imagePullPolicy", "IfNotPresent", "command",
			       "sh", "-c", COPY, "resources", pod_resources(c),
			       "securityContext", "allowPrivilegeEscalation", 0,
			       "readOnlyRootFilesystem", 1, "runAsNonRoot", 1,
			       "runAsUser", pod_user(spec, c), "capabilities",
			       "drop", "ALL", "seccompProfile", "type",
			       "RuntimeDefault", "volumeMounts", "name",
			       LIB_VOLUME, "mountPath", LIB_DIR));
}

/* Return: whether the container was changed. */
static bool pod_inject(struct kf_injection *j, const json_t *c, size_t i)
{
	const char *why;

	if (kf_injection_has(c))
		return false;
	why = pod_refuse_container(c);
	if (why) {
		kf_injection_warn(j, pod_text(c, "name"), "%s", why);
		return false;
	}
	if (kf_injection_list(json_object_get(c, "envFrom")) != KF_LIST_ABSENT)
		kf_injection_warn(j, pod_text(c, "name"),
				  "an LD_PRELOAD set by envFrom is replaced");
	pod_set_mounts(j, c, i);
	pod_set_env(j, c, i);
	return true;
}

void kf_injection_make(struct kf_injection *j)
{
	const json_t *spec = json_object_get(j->pod, "spec"), *list, *c;
	const json_t *changed = NULL;
	bool *chosen;
	size_t i, nr;

	if (!kf_injection_wanted(j) || pod_is_taken(j, spec))
		return;
	list = json_object_get(spec, "containers");
	nr = json_array_size(list);
	chosen = calloc(nr, sizeof(*chosen));
	if (!chosen) {
		j->failed = true;
		return;
	}
	kf_injection_choose(j, chosen, nr);
	json_array_foreach(list, i, c)
	{
		if (chosen[i] && pod_inject(j, c, i) && !changed)
			changed = c;
	}
	free(chosen);
	if (!changed)
		return;
	pod_add_volumes(j, spec);
	pod_add_init(j, spec, changed);
}
