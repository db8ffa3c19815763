/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reviews and answers of admission.k8s.io/v1: see injector.h.
 */
#include "config.h"

#include "exporter/injector/injector.h"
#include "exporter/injector/pod.h"
#include "exporter/log.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API "admission.k8s.io/v1"
#define KIND "AdmissionReview"

static bool review_says(const json_t *object, const char *key,
			const char *value)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && strcmp(text, value) == 0;
}

/* Return: NULL, or why @root is no review. */
static const char *review_refuse(const json_t *root)
{
	const json_t *request = json_object_get(root, "request");

	if (!review_says(root, "kind", KIND) ||
	    !review_says(root, "apiVersion", API))
		return "not an " KIND " of " API;
	if (!json_is_object(request))
		return "the " KIND " has no request";
	if (!json_string_length(json_object_get(request, "uid")))
		return "the request has no uid";
	return NULL;
}

/* Pods that are created; the webhook's rules should send nothing else. */
static bool review_is_for_us(struct kf_injection *j, const json_t *request)
{
	const json_t *kind = json_object_get(request, "kind");

	if (!review_says(kind, "kind", "Pod") ||
	    !review_says(kind, "group", "") ||
	    json_string_length(json_object_get(request, "subResource"))) {
		kf_injection_warn(j, NULL, "the injector changes only pods");
		return false;
	}
	if (!review_says(request, "operation", "CREATE")) {
		kf_injection_warn(
			j, NULL,
			"the injector changes pods only when they are created");
		return false;
	}
	return true;
}

static json_t *review_encode(const json_t *patch)
{
	char *text = json_dumps(patch, JSON_COMPACT);
	gnutls_datum_t plain, encoded;
	json_t *result;

	if (!text)
		return NULL;
	plain.data = (unsigned char *)text;
	plain.size = (unsigned int)strlen(text);
	if (gnutls_base64_encode2(&plain, &encoded) != 0) {
		free(text);
		return NULL;
	}
	free(text);
	result = json_stringn((const char *)encoded.data, encoded.size);
	gnutls_free(encoded.data);
	return result;
}

static json_t *review_response(const struct kf_injection *j, const json_t *uid)
{
	json_t *r = json_pack("{s:O, s:b}", "uid", uid, "allowed", 1);
	int wrong = 0;

	if (json_array_size(j->warnings))
		wrong |= json_object_set(r, "warnings", j->warnings);
	if (json_array_size(j->patch)) {
		wrong |= json_object_set_new(r, "patchType",
					     json_string("JSONPatch"));
		wrong |= json_object_set_new(r, "patch",
					     review_encode(j->patch));
	}
	if (!wrong)
		return r;
	json_decref(r);
	return NULL;
}

static enum kf_inject_result review_write(const struct kf_injection *j,
					  const json_t *uid, struct kf_buf *out)
{
	json_t *response = j->failed ? NULL : review_response(j, uid);
	json_t *root = response
			       ? json_pack("{s:s, s:s, s:o}", "apiVersion", API,
					   "kind", KIND, "response", response)
			       : NULL;
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

	json_decref(root);
	if (!text)
		return KF_INJECT_FAILED;
	kf_buf_str(out, text);
	free(text);
	return KF_INJECT_ANSWERED;
}

static const char *review_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void review_log(const struct kf_injection *j, const json_t *request)
{
	const json_t *metadata = json_object_get(j->pod, "metadata");
	const char *name = review_text(metadata, "name");
	const json_t *warning;
	size_t i;

	if (!*name)
		name = review_text(metadata, "generateName");
	json_array_foreach(j->warnings, i, warning)
		kf_log(KF_LOG_WARN, "pod gets a warning", "namespace",
		       review_text(request, "namespace"), "pod", name,
		       "warning", json_string_value(warning), NULL);
	if (json_array_size(j->patch))
		kf_log(KF_LOG_INFO, "pod gets the library", "namespace",
		       review_text(request, "namespace"), "pod", name, NULL);
}

static enum kf_inject_result
review_answer(const char *image, const json_t *request, struct kf_buf *out)
{
	struct kf_injection j = {.image = image,
				 .pod = json_object_get(request, "object"),
				 .patch = json_array(),
				 .warnings = json_array()};
	enum kf_inject_result result;

	j.failed = !j.patch || !j.warnings;
	if (review_is_for_us(&j, request))
		kf_injection_make(&j);
	result = review_write(&j, json_object_get(request, "uid"), out);
	if (result == KF_INJECT_ANSWERED)
		review_log(&j, request);
	json_decref(j.patch);
	json_decref(j.warnings);
	return result;
}

enum kf_inject_result kf_inject_answer(const char *image, const char *body,
				       size_t size, struct kf_buf *out)
{
	enum kf_inject_result result = KF_INJECT_WRONG;
	json_error_t error;
	json_t *root = json_loadb(body ? body : "", size,
				  JSON_REJECT_DUPLICATES, &error);
	const char *why;

	if (!root) {
		kf_buf_fmt(out, "not JSON, or nested too deeply, at byte %d\n",
			   error.position);
		return result;
	}
	why = review_refuse(root);
	if (why)
		kf_buf_fmt(out, "%s\n", why);
	else
		result = review_answer(image, json_object_get(root, "request"),
				       out);
	json_decref(root);
	return result;
}
