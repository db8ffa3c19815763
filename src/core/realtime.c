/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The guard for real-time code: see realtime.h.
 */
#include "core/realtime.h"

#include "base/match.h"
#include "base/text.h"
#include "core/conf.h"
#include "sample/sample.h"
#include "sys/out.h"
#include "sys/process.h"
#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

#include <string.h>

__thread struct kf_realtime_self kf_realtime_self
	__attribute__((tls_model("initial-exec")));

void kf_realtime_enter(bool on)
{
	struct kf_realtime_self *self = &kf_realtime_self;

	if (!on && !self->level)
		return;
	/* What the thread needs for its calls it gets before it is watched. */
	kf_front_renew();
	if (on)
		self->level++;
	else
		self->level--;
	kf_front_choose();
}

bool kf_realtime_look(void)
{
	struct kf_realtime_self *self = &kf_realtime_self;
	const struct kf_toll toll = kf_toll;
	char comm[KF_COMM_SIZE];
	bool was = self->named;

	if (likely(!kf_conf.realtime) || kf_process_is_barred())
		return false;
	kf_process_comm(comm);
	/* That was for the guard, not for a call. */
	kf_toll = toll;
	self->named = kf_match(kf_conf.realtime, comm, strlen(comm));
	return self->named != was;
}

static const char *const functions[] = {
	[KF_CALL_MALLOC] = "malloc",   [KF_CALL_CALLOC] = "calloc",
	[KF_CALL_REALLOC] = "realloc", [KF_CALL_ALIGNED] = "an aligned call",
	[KF_CALL_FREE] = "free",
};

/* By the bits of enum kf_realtime_why. */
static const char *const reasons[] = {
	" waited for a lock",
	" made a system call",
	" had a page fault",
};

_Static_assert(1 << KF_ARRAY_SIZE(reasons) == KF_REALTIME_WHYS, "each reason");

static void put_reasons(struct kf_text *text, uint32_t why)
{
	const char *between = ", which";

	for (uint32_t i = 0; i < KF_ARRAY_SIZE(reasons); i++) {
		if (!(why & 1u << i))
			continue;
		kf_text_str(text, between);
		kf_text_str(text, reasons[i]);
		between = " and";
	}
}

static void realtime_die(enum kf_call call, size_t size, uint64_t caller,
			 uint32_t why)
{
	char buf[256], comm[KF_COMM_SIZE];
	struct kf_text text;

	kf_process_comm(comm);
	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: real-time thread ");
	kf_text_i64(&text, kf_process_tid());
	kf_text_str(&text, " (");
	kf_text_ascii(&text, comm, sizeof(comm));
	kf_text_str(&text, ") called ");
	kf_text_str(&text, functions[call]);
	if (call != KF_CALL_FREE) {
		kf_text_str(&text, " for ");
		kf_text_u64(&text, size);
		kf_text_str(&text, " bytes");
	}
	kf_text_str(&text, " at ");
	kf_text_hex(&text, caller);
	put_reasons(&text, why);
	kf_text_char(&text, '\n');
	kf_out_die(&text);
}

/* @nr: the last system call, if there was one */
static void realtime_report(enum kf_call call, size_t size, uint32_t why,
			    uint64_t nr)
{
	uint64_t caller;

	kf_word_add_atomic(KF_WORD_realtime_calls, 1);
	caller = kf_sample_realtime(call, why);
	kf_probe_realtime_violation(call, size, caller, why, nr);
	if (unlikely(kf_conf.realtime_abort))
		realtime_die(call, size, caller, why);
}

void kf_realtime_note(enum kf_call call, size_t size)
{
	if (!kf_conf.realtime_allow)
		realtime_report(call, size, 0, 0);
}

void kf_realtime_watch(struct kf_realtime_watch *watch)
{
	watch->on = kf_conf.realtime_allow;
	if (!watch->on)
		return;
	watch->outer = kf_toll;
	watch->sees_faults = kf_thread_faults(&watch->faults);
	kf_toll = (struct kf_toll){0};
}

static uint32_t realtime_why(const struct kf_realtime_watch *watch,
			     const struct kf_toll *toll)
{
	uint64_t faults;
	uint32_t why = 0;

	if (toll->waited)
		why |= KF_REALTIME_WAITED;
	if (toll->system_call)
		why |= KF_REALTIME_SYSTEM_CALL;
	if (watch->sees_faults && kf_thread_faults(&faults) &&
	    faults != watch->faults)
		why |= KF_REALTIME_FAULT;
	return why;
}

void kf_realtime_watched(const struct kf_realtime_watch *watch,
			 enum kf_call call, size_t size)
{
	const struct kf_toll toll = kf_toll;
	uint32_t why;

	if (!watch->on)
		return;
	why = realtime_why(watch, &toll);
	if (unlikely(why) && kf_realtime_is_on()) {
		kf_word_add_atomic(KF_WORD_realtime_waits,
				   !!(why & KF_REALTIME_WAITED));
		kf_word_add_atomic(KF_WORD_realtime_system_calls,
				   !!(why & KF_REALTIME_SYSTEM_CALL));
		kf_word_add_atomic(KF_WORD_realtime_faults,
				   !!(why & KF_REALTIME_FAULT));
		realtime_report(call, size, why,
				toll.system_call ? toll.system_call - 1 : 0);
	}
	kf_toll = watch->outer;
}
