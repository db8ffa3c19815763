/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists in headers: see list.h.
 */
#include "config.h"

#include "exporter/http/list.h"

#include <strings.h>

struct list {
	const char *name;
	struct kf_buf *out;
};

static enum MHD_Result list_add(void *cls, enum MHD_ValueKind kind,
				const char *key, const char *value)
{
	const struct list *list = cls;

	if (!value || strcasecmp(key, list->name) != 0)
		return MHD_YES;
	if (list->out->data)
		kf_buf_str(list->out, ",");
	kf_buf_str(list->out, value);
	return MHD_YES;
}

void kf_list_of(struct MHD_Connection *c, const char *name, struct kf_buf *out)
{
	struct list list = {.name = name, .out = out};

	*out = (struct kf_buf){0};
	MHD_get_connection_values(c, MHD_HEADER_KIND, list_add, &list);
}
