/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a receiver of OTLP answers.
 */
#include "config.h"

#include "exporter/otlp/otlp.h"
#include "exporter/otlp/otlp.pb-c.h"

void kf_otlp_accepted(const struct kf_buf *body, struct kf_post_answer *a)
{
	Kf__Otlp__Answer *answer = kf__otlp__answer__unpack(
		NULL, body->len, (const uint8_t *)body->data);

	if (answer && answer->partial) {
		a->rejected = answer->partial->rejected > 0
				      ? (uint64_t)answer->partial->rejected
				      : 0;
		kf_post_note(a, answer->partial->error);
	}
	if (answer)
		kf__otlp__answer__free_unpacked(answer, NULL);
}

void kf_otlp_failed(const struct kf_buf *body, struct kf_post_answer *a)
{
	Kf__Otlp__Status *s = kf__otlp__status__unpack(
		NULL, body->len, (const uint8_t *)body->data);

	if (!s)
		return;
	kf_post_note(a, s->message);
	kf__otlp__status__free_unpacked(s, NULL);
}
