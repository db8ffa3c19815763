/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of OTLP: see message.h.
 */
#include "config.h"

#include "exporter/http/gzip.h"
#include "exporter/otlp/message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool kf_otlp_grow(struct kf_page *page, void *list, size_t nr, size_t size)
{
	void **at = list, *more;

	if (nr & (nr - 1))
		return true;
	more = kf_page_alloc(page, (nr ? 2 * nr : 1) * size);
	if (more && nr)
		memcpy(more, *at, nr * size);
	if (more)
		*at = more;
	return more;
}

static char *otlp_copy(struct kf_page *page, const char *text, size_t len)
{
	char *copy = kf_page_alloc(page, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

Kf__Otlp__Attribute *kf_otlp_attribute(struct kf_page *page, const char *key,
				       const char *value)
{
	Kf__Otlp__Attribute *a = OTLP_NEW(page, Kf__Otlp__Attribute);
	Kf__Otlp__Value *v = OTLP_NEW(page, Kf__Otlp__Value);

	if (!a || !v)
		return NULL;
	kf__otlp__attribute__init(a);
	kf__otlp__value__init(v);
	v->kind_case = KF__OTLP__VALUE__KIND_TEXT;
	v->text = (char *)(uintptr_t)value;
	a->key = (char *)(uintptr_t)key;
	a->value = v;
	return a;
}

static bool otlp_resource_add(struct kf_page *page, Kf__Otlp__Resource *r,
			      const char *key, const char *value)
{
	Kf__Otlp__Attribute *a = kf_otlp_attribute(page, key, value);

	return a && OTLP_ADD(page, r, attribute, a);
}

static int otlp_hex(char c)
{
	static const char digits[] = "0123456789abcdef";

	return isxdigit((unsigned char)c)
		       ? (int)(strchr(digits, tolower((unsigned char)c)) -
			       digits)
		       : -1;
}

/* Decode %XX in place. */
static char *otlp_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '%' && otlp_hex(from[1]) >= 0 &&
		    otlp_hex(from[2]) >= 0) {
			*to++ = (char)(otlp_hex(from[1]) << 4 |
				       otlp_hex(from[2]));
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return text;
}

/* Cut spaces at both ends, in place. */
static char *otlp_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && strchr(" \t", end[-1]))
		*--end = '\0';
	return text + strspn(text, " \t");
}

/* Invalid UTF-8 would make the whole request invalid. */
static const char *otlp_clean(struct kf_page *page, const char *text)
{
	size_t size = 3 * strlen(text) + 1;
	char *clean = kf_page_alloc(page, size);

	return clean ? kf_utf8_clean(clean, size, text) : NULL;
}

static bool otlp_has(const Kf__Otlp__Resource *r, const char *key)
{
	for (size_t i = 0; i < r->n_attribute; i++) {
		if (strcmp(r->attribute[i]->key, key) == 0)
			return true;
	}
	return false;
}

static bool otlp_take_pair(struct kf_page *page, Kf__Otlp__Resource *r,
			   char *pair)
{
	char *eq = strchr(pair, '=');
	const char *key, *value;

	if (!eq)
		return true;
	*eq = '\0';
	key = otlp_clean(page, otlp_trim(pair));
	value = otlp_clean(page, otlp_decode(otlp_trim(eq + 1)));
	if (!key || !value)
		return false;
	return !*key || otlp_has(r, key) ||
	       otlp_resource_add(page, r, key, value);
}

static bool otlp_add_given(struct kf_page *page, Kf__Otlp__Resource *r)
{
	const char *given = getenv(KF_OTLP_ATTRIBUTES);

	while (given && *given) {
		size_t len = strcspn(given, ",");
		char *pair = otlp_copy(page, given, len);

		if (!pair || !otlp_take_pair(page, r, pair))
			return false;
		given += len + (given[len] == ',');
	}
	return true;
}

static bool otlp_add_host(struct kf_page *page, Kf__Otlp__Resource *r)
{
	char host[256] = "";
	const char *copy;

	if (gethostname(host, sizeof(host) - 1) != 0 || !host[0])
		return true;
	copy = otlp_copy(page, host, strlen(host));
	return copy && otlp_resource_add(page, r, "host.name", copy);
}

Kf__Otlp__Resource *kf_otlp_resource(struct kf_page *page, const char *name,
				     const char *container)
{
	Kf__Otlp__Resource *r = OTLP_NEW(page, Kf__Otlp__Resource);

	if (!r)
		return NULL;
	kf__otlp__resource__init(r);
	if (!otlp_resource_add(page, r, "service.name",
			       name ? name : "konfiscator_exporter"))
		return NULL;
	if (*container &&
	    !otlp_resource_add(page, r, "container.id", container))
		return NULL;
	return otlp_add_given(page, r) && otlp_add_host(page, r) ? r : NULL;
}

Kf__Otlp__Scope *kf_otlp_scope(struct kf_page *page)
{
	Kf__Otlp__Scope *scope = OTLP_NEW(page, Kf__Otlp__Scope);

	if (!scope)
		return NULL;
	kf__otlp__scope__init(scope);
	scope->name = (char *)(uintptr_t)PACKAGE_NAME;
	scope->version = (char *)(uintptr_t)PACKAGE_VERSION;
	return scope;
}

struct kf_post_request *kf_otlp_pack(const ProtobufCMessage *message,
				     size_t items)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	struct kf_post_request *q = calloc(1, sizeof(*q));
	uint8_t *bytes = malloc(size + 1);

	if (q && bytes) {
		protobuf_c_message_pack(message, bytes);
		kf_buf_add(&q->body, (const char *)bytes, size);
		q->packed = kf_gzip(&q->body);
		q->items = items;
	}
	free(bytes);
	if (q && !q->body.len) {
		kf_post_free(q);
		q = NULL;
	}
	return q;
}
