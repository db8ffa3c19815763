/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Brackets may be escaped, as by Prometheus.
 */
#include "config.h"

#include "exporter/collect/choice.h"
#include "exporter/collect/collector.h"

#include <string.h>
#include <strings.h>

static bool choice_key_is(const char *key, const char *plain,
			  const char *escaped)
{
	return strcmp(key, plain) == 0 || strcasecmp(key, escaped) == 0;
}

static uint32_t choice_bit_of(const struct kf_choice *c, const char *name)
{
	unsigned int i;

	for (i = 0; name && i < kf_nr_collectors; i++) {
		if (c->enabled[i] && strcmp(kf_collectors[i]->name, name) == 0)
			return UINT32_C(1) << i;
	}
	return 0;
}

void kf_choice_add(struct kf_choice *c, const char *key, const char *value)
{
	uint32_t bit, *to;

	if (choice_key_is(key, "collect[]", "collect%5B%5D"))
		to = &c->collected;
	else if (choice_key_is(key, "exclude[]", "exclude%5B%5D"))
		to = &c->excluded;
	else
		return;
	bit = choice_bit_of(c, value);
	*to |= bit;
	c->wrong |= !bit || (c->collected && c->excluded);
}

bool kf_choice_left_out(const struct kf_choice *c, uint32_t *left_out)
{
	*left_out = c->collected ? ~c->collected : c->excluded;
	return !c->wrong;
}

void kf_choice_explain(const struct kf_choice *c, struct kf_buf *out)
{
	const char *before = "use collect[] or exclude[], not both, with an "
			     "enabled collector: ";
	unsigned int i;

	for (i = 0; i < kf_nr_collectors; i++) {
		if (!c->enabled[i])
			continue;
		kf_buf_str(out, before);
		kf_buf_str(out, kf_collectors[i]->name);
		before = ", ";
	}
	kf_buf_str(out, "\n");
}
