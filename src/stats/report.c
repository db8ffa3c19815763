/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The words of a report of a guarded block: see report.h.
 */
#include "stats/report.h"

#include "base/text.h"

const char *kf_report_words(uint32_t kind)
{
	static const char *const words[] = {
#define KF_FAULT(id, number, text, counter) [number] = (text),
#include "stats/faults.def"
#undef KF_FAULT
	};

	return kind < KF_ARRAY_SIZE(words) ? words[kind] : NULL;
}

static void report_put_distance(struct kf_text *text,
				const struct kf_stats_report *r)
{
	kf_text_str(text, ", ");
	if (r->address < r->block) {
		kf_text_u64(text, r->block - r->address);
		kf_text_str(text, " bytes before");
	} else if (r->address - r->block >= r->bytes) {
		kf_text_u64(text, r->address - r->block - r->bytes);
		kf_text_str(text, " bytes behind");
	} else {
		kf_text_u64(text, r->address - r->block);
		kf_text_str(text, " bytes inside");
	}
	kf_text_str(text, " the block ");
	kf_text_hex(text, r->block);
	kf_text_str(text, " of ");
	kf_text_u64(text, r->bytes);
	kf_text_str(text, " bytes");
}

void kf_report_headline(struct kf_text *text, const struct kf_stats_report *r)
{
	const char *words = kf_report_words(r->kind);

	kf_text_str(text, words ? words : "fault");
	if (r->how & KF_REPORT_WRITE)
		kf_text_str(text, ": write to ");
	else if (r->how & KF_REPORT_READ)
		kf_text_str(text, ": read of ");
	else
		kf_text_str(text, " at ");
	kf_text_hex(text, r->address);
	if (r->block)
		report_put_distance(text, r);
	kf_text_str(text, ", thread ");
	kf_text_i64(text, r->by[KF_REPORT_DONE].tid);
}
