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
	char comm[KF_COMM_SIZE];
	bool was = self->named;

	if (likely(!kf_conf.realtime) || kf_process_is_barred())
		return false;
	kf_process_comm(comm);
	self->named = kf_match(kf_conf.realtime, comm, strlen(comm));
	return self->named != was;
}

static const char *const functions[] = {
	[KF_CALL_MALLOC] = "malloc",   [KF_CALL_CALLOC] = "calloc",
	[KF_CALL_REALLOC] = "realloc", [KF_CALL_ALIGNED] = "an aligned call",
	[KF_CALL_FREE] = "free",
};

static void realtime_die(enum kf_call call, size_t size, uint64_t caller)
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
	kf_text_char(&text, '\n');
	kf_out_die(&text);
}

void kf_realtime_note(enum kf_call call, size_t size)
{
	uint64_t caller;

	kf_word_add_atomic(KF_WORD_realtime_calls, 1);
	caller = kf_sample_realtime(call);
	kf_probe_realtime_violation(call, size, caller);
	if (unlikely(kf_conf.realtime_abort))
		realtime_die(call, size, caller);
}
