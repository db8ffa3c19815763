/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reports of guarded blocks: see guards.h.
 */
#include "config.h"

#include "cli/profile/guards.h"

#include "cli/profile/stack-text.h"
#include "reader/reports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void guards_print_one(const struct kf_stack_texts *t,
			     const struct kf_stats_report *r)
{
	char line[KF_REPORT_LINE];

	kf_report_line(r, line);
	printf("guard report: %s\n", line);
	if (r->times > 1)
		printf("  %" PRIu64 " times with the same stacks\n", r->times);
	for (unsigned int i = 0; i < KF_ARRAY_SIZE(r->by); i++) {
		const char *what = kf_report_by(r, i);
		char *stack;

		if (!what)
			continue;
		stack = kf_stack_text(t, r->by[i].stack, SIZE_MAX);
		printf("  %s by thread %" PRId32 ": %s\n", what, r->by[i].tid,
		       stack ? stack : "its stack is not known");
		free(stack);
	}
}

void kf_guards_print(const struct kf_cli *cli, const struct kf_file *f)
{
	struct kf_stack_texts t;

	if (!f->snap.nr_reports)
		return;
	kf_stack_texts_open(&t, cli, f);
	for (uint32_t i = 0; i < f->snap.nr_reports; i++)
		guards_print_one(&t, &f->snap.reports[i]);
	kf_stack_texts_close(&t);
}

static json_t *guards_hex(uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return json_string(text);
}

static json_t *guards_access(const struct kf_stats_report *r)
{
	if (r->how & KF_REPORT_WRITE)
		return json_string("write");
	return r->how & KF_REPORT_READ ? json_string("read") : json_null();
}

static json_t *guards_part(const struct kf_stack_texts *t, uint32_t entry,
			   int32_t tid)
{
	json_t *part = json_object();
	char *stack = kf_stack_text(t, entry, SIZE_MAX);

	json_object_set_new(part, "tid", json_integer(tid));
	json_object_set_new(part, "stack",
			    stack ? json_string(stack) : json_null());
	free(stack);
	return part;
}

static json_t *guards_json_one(const struct kf_stack_texts *t,
			       const struct kf_stats_report *r)
{
	static const char *const keys[] = {"done", "allocated", "freed"};
	json_t *o = json_object();

	json_object_set_new(o, "monotonic_ns",
			    json_integer((json_int_t)r->time));
	json_object_set_new(o, "times", json_integer((json_int_t)r->times));
	json_object_set_new(o, "kind", json_string(kf_report_words(r->kind)));
	json_object_set_new(o, "access", guards_access(r));
	json_object_set_new(o, "late", json_boolean(r->how & KF_REPORT_LATE));
	json_object_set_new(o, "address", guards_hex(r->address));
	json_object_set_new(o, "block",
			    r->block ? guards_hex(r->block) : json_null());
	json_object_set_new(o, "block_bytes",
			    json_integer((json_int_t)r->bytes));
	for (unsigned int i = 0; i < KF_ARRAY_SIZE(r->by); i++)
		json_object_set_new(
			o, keys[i],
			kf_report_by(r, i)
				? guards_part(t, r->by[i].stack, r->by[i].tid)
				: json_null());
	return o;
}

json_t *kf_guards_json(const struct kf_cli *cli, const struct kf_file *f)
{
	json_t *all = json_array();
	struct kf_stack_texts t;

	if (!f->snap.nr_reports)
		return all;
	kf_stack_texts_open(&t, cli, f);
	for (uint32_t i = 0; i < f->snap.nr_reports; i++)
		json_array_append_new(all,
				      guards_json_one(&t, &f->snap.reports[i]));
	kf_stack_texts_close(&t);
	return all;
}
