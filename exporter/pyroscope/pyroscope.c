/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests to Pyroscope: see pyroscope.h.
 */
#include "config.h"

#include "exporter/otlp/message.h"
#include "exporter/pyroscope/pyroscope.h"
#include "exporter/pyroscope/pyroscope.pb-c.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool pyroscope_has(const Kf__Pyroscope__Series *s, const char *name)
{
	for (size_t i = 0; i < s->n_label; i++) {
		if (strcmp(s->label[i]->name, name) == 0)
			return true;
	}
	return false;
}

/* The name of a label, made of an attribute's. */
static char *pyroscope_name(struct kf_page *page, const char *key)
{
	bool digit = isdigit((unsigned char)key[0]);
	char *name = kf_page_alloc(page, strlen(key) + 2), *to = name;

	if (!name)
		return NULL;
	if (digit)
		*to++ = '_';
	for (; *key; key++)
		*to++ = (char)(isalnum((unsigned char)*key) ? *key : '_');
	*to = '\0';
	return name;
}

/* Names that begin with __ are the server's; an empty value is no label. */
static bool pyroscope_add(struct kf_page *page, Kf__Pyroscope__Series *s,
			  const char *name, const char *value)
{
	Kf__Pyroscope__Label *label = OTLP_NEW(page, Kf__Pyroscope__Label);

	if (!label)
		return false;
	kf__pyroscope__label__init(label);
	label->name = (char *)(uintptr_t)name;
	label->value = (char *)(uintptr_t)value;
	return OTLP_ADD(page, s, label, label);
}

static bool pyroscope_add_labels(struct kf_page *page, Kf__Pyroscope__Series *s,
				 const char *group, const char *container)
{
	const Kf__Otlp__Resource *r = kf_otlp_resource(page, group, container);

	if (!r || !pyroscope_add(page, s, "__name__", "memory"))
		return false;
	for (size_t i = 0; i < r->n_attribute; i++) {
		const char *value = r->attribute[i]->value->text;
		const char *name = pyroscope_name(page, r->attribute[i]->key);

		if (!name)
			return false;
		if (strncmp(name, "__", 2) != 0 && *value &&
		    !pyroscope_has(s, name) &&
		    !pyroscope_add(page, s, name, value))
			return false;
	}
	return true;
}

/* Its body is not packed: what it holds is. */
static struct kf_post_request *
pyroscope_pack(const Kf__Pyroscope__Request *message)
{
	size_t size = kf__pyroscope__request__get_packed_size(message);
	struct kf_post_request *q = calloc(1, sizeof(*q));
	uint8_t *bytes = malloc(size + 1);

	if (q && bytes) {
		kf__pyroscope__request__pack(message, bytes);
		kf_buf_add(&q->body, (const char *)bytes, size);
		q->items = 1;
	}
	free(bytes);
	if (q && !q->body.len) {
		kf_post_free(q);
		q = NULL;
	}
	return q;
}

struct kf_post_request *kf_pyroscope_profile(const struct kf_buf *pprof,
					     const char *name,
					     const char *container)
{
	Kf__Pyroscope__Request request = KF__PYROSCOPE__REQUEST__INIT;
	Kf__Pyroscope__Series series = KF__PYROSCOPE__SERIES__INIT;
	Kf__Pyroscope__Profile profile = KF__PYROSCOPE__PROFILE__INIT;
	struct kf_post_request *q = NULL;
	struct kf_page page = {0};

	profile.pprof.data = (uint8_t *)pprof->data;
	profile.pprof.len = pprof->len;
	if (pyroscope_add_labels(&page, &series, name, container) &&
	    OTLP_ADD(&page, &series, profile, &profile) &&
	    OTLP_ADD(&page, &request, series, &series))
		q = pyroscope_pack(&request);
	kf_page_release(&page);
	return q;
}

/* The Connect protocol has errors as JSON. */
void kf_pyroscope_failed(const struct kf_buf *body, struct kf_post_answer *a)
{
	json_t *error = json_loadb(body->data, body->len, 0, NULL);
	const char *message =
		json_string_value(json_object_get(error, "message"));

	if (message)
		kf_post_note(a, message);
	json_decref(error);
}
