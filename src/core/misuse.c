// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The line about what a program does wrong: see misuse.h. The heap may be
 * damaged: nothing here follows a pointer that lies in it.
 */
#include "core/misuse.h"

#include "base/text.h"
#include "core/conf.h"
#include "core/guarding.h"
#include "engines/host.h"
#include "heap/marked.h"
#include "heap/slab.h"
#include "sample/sample.h"
#include "stats/stats.h"
#include "sys/out.h"
#include "sys/process.h"

#include "probes/konfiscator-probes.h"

static const struct {
	const char *words;
	enum kf_word_stat counter;
} kinds[] = {
	[KONF_INVALID_POINTER] = {"invalid pointer ", KF_WORD_invalid_frees},
	[KONF_DOUBLE_FREE] = {"double free of ", KF_WORD_double_frees},
	[KONF_OVERFLOW] = {"bytes were written beside the block ",
			   KF_WORD_overflows},
	[KONF_WRITE_AFTER_FREE] = {"bytes were written after the free of ",
				   KF_WORD_writes_after_free},
	[KONF_MISMATCH] = {"freed in another way than it was allocated: ",
			   KF_WORD_mismatches},
};

/* glibc fires the second one for a block that rests in a thread's cache. */
static void fire_double_free(const void *p)
{
	const struct kf_slab *slab = kf_slab_at(p);

	kf_probe_double_free((uintptr_t)p);
	if (slab)
		kf_probe_memory_tcache_double_free((uintptr_t)p,
						   kf_slab_class(slab));
}

static void fire(const void *p, enum konf_misuse wrong)
{
	if (wrong == KONF_DOUBLE_FREE)
		fire_double_free(p);
	else if (wrong == KONF_INVALID_POINTER)
		kf_probe_invalid_free((uintptr_t)p);
	else
		kf_probe_heap_corruption((uintptr_t)p, wrong);
}

static void put_site(struct kf_text *text, const void *p)
{
	uint64_t site = kf_sample_site(kf_mark_of(p), p);

	if (!site)
		return;
	kf_text_str(text, ", allocated at ");
	kf_text_hex(text, site);
}

/* The block, its bytes, where it comes from, and the thread. */
static void misuse_put_block(struct kf_text *text, const void *p)
{
	size_t usable = kf_host_usable(p);

	if (p)
		kf_text_hex(text, (uintptr_t)p);
	else
		kf_text_str(text, "a block that is no longer known");
	if (usable) {
		kf_text_str(text, " of ");
		kf_text_u64(text, usable);
		kf_text_str(text, " bytes");
	}
	put_site(text, p);
	kf_text_str(text, ", thread ");
	kf_text_i64(text, kf_process_tid());
}

void kf_misuse_report(enum konf_misuse wrong, const void *p)
{
	char buf[160];
	struct kf_text text;

	kf_word_add_atomic(kinds[wrong].counter, 1);
	fire(p, wrong);
	if (kf_guarding_misuse(wrong, p))
		return;
	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: ");
	kf_text_str(&text, kinds[wrong].words);
	misuse_put_block(&text, p);
	kf_text_char(&text, '\n');
	if (kf_conf.on_error != KF_ON_ERROR_COUNT)
		kf_out_die(&text);
	kf_out(&text);
}

static bool size_is_fatal(void)
{
	if (kf_conf.on_error == KF_ON_ERROR_ABORT)
		return kf_engine->is_exact;
	return kf_conf.on_error == KF_ON_ERROR_ABORT_ON_SIZE;
}

void kf_misuse_report_size(const void *p, size_t told)
{
	static bool is_told; /* atomic */
	bool fatal = size_is_fatal();
	char buf[192];
	struct kf_text text;

	kf_word_add_atomic(KF_WORD_size_mismatches, 1);
	kf_probe_size_mismatch((uintptr_t)p, told, kf_host_usable(p));
	if (!fatal && __atomic_exchange_n(&is_told, true, __ATOMIC_RELAXED))
		return;
	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: freed with the size ");
	kf_text_u64(&text, told);
	kf_text_str(&text, ": ");
	misuse_put_block(&text, p);
	if (!fatal)
		kf_text_str(&text, "; further ones are only counted");
	kf_text_char(&text, '\n');
	if (fatal)
		kf_out_die(&text);
	kf_out(&text);
}
