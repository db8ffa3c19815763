/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Guarded samples: see guarding.h.
 *
 * A block is guarded where a slot is free and the last one was guarded some
 * time ago: the fewer slots are free, the longer. So blocks that live long do
 * not take all slots at the start of a program.
 */
#include "core/guarding.h"

#include "base/text.h"
#include "core/conf.h"
#include "engines/host.h"
#include "heap/guarded.h"
#include "sample/sample.h"
#include "sample/trace.h"
#include "stats/stats.h"
#include "sys/call.h"
#include "sys/env.h"
#include "sys/fault.h"
#include "sys/out.h"
#include "sys/process.h"
#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

#include <sys/resource.h>

/* The pool has at most this part of the addresses that RLIMIT_AS allows. */
#define ADDRESSES_PART 256

/* With all slots but one taken, the wait is this number times doubled. */
#define MOST_DOUBLED 8

/* A thread waits so often for another one's report, then leaves its own out. */
#define MOST_YIELDS 10000

enum { NOT_STARTED, STARTING, READY, FAILED };

static struct {
	unsigned int slots; /* 0: no block is guarded; constant after start */
	bool ends;	    /* errors end the program; constant after start */
	uint32_t stage;	    /* atomic */
	uint64_t next;	    /* ns: none is guarded before; atomic */
	uint64_t reporter;  /* the thread that prints; 0: none; atomic */
	struct kf_trace access; /* the reporter's */
} guarding;

/* What is told of a fault. */
struct guarding_report {
	enum kf_guarded_fault kind;
	const struct kf_guarded_slot *slot; /* NULL: none is known */
	const void *at;
	uint32_t how;	     /* enum kf_report_how */
	const void *context; /* of the signal handler, or NULL */
};

static const enum kf_word_stat counters[] = {
#define KF_FAULT(id, number, words, counter) [number] = KF_WORD_##counter,
#include "stats/faults.def"
#undef KF_FAULT
};

static void print_headline(const struct kf_stats_report *report)
{
	char buf[256];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: ");
	kf_report_headline(&text, report);
	kf_text_char(&text, '\n');
	kf_out(&text);
}

static void print_stack(const char *words, const struct kf_trace *trace)
{
	char buf[128];
	struct kf_text text;

	if (!trace)
		return;
	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator:   ");
	kf_text_str(&text, words);
	kf_text_str(&text, " by thread ");
	kf_text_i64(&text, trace->thread);
	kf_text_str(&text, trace->nr ? ":\n" : ", its stack is not known\n");
	kf_out(&text);
	kf_trace_print(trace);
}

/* The stack of the block's free, if it matters. */
static const struct kf_trace *
guarding_went(const struct guarding_report *report)
{
	const struct kf_guarded_slot *slot = report->slot;

	return slot->freed && !(report->how & KF_REPORT_LATE) &&
			       report->kind != KF_GUARDED_OVERFLOW &&
			       report->kind != KF_GUARDED_UNDERFLOW &&
			       slot->went.nr
		       ? &slot->went
		       : NULL;
}

/* Prints a report, then keeps it: naming its code takes longer. */
static void guarding_print(const struct guarding_report *report)
{
	const struct kf_guarded_slot *slot =
		report->slot && report->slot->block ? report->slot : NULL;
	const struct kf_trace *stack[] = {
		[KF_REPORT_DONE] = &guarding.access,
		[KF_REPORT_CAME] = slot ? &slot->came : NULL,
		[KF_REPORT_WENT] = slot ? guarding_went(report) : NULL,
	};
	struct kf_stats_report kept = {
		.address = (uintptr_t)report->at,
		.block = slot ? (uintptr_t)slot->block : 0,
		.bytes = slot ? slot->asked : 0,
		.kind = report->kind,
		.how = report->how,
	};

	kf_trace_take(&guarding.access, report->context);
	for (size_t i = 0; i < KF_ARRAY_SIZE(stack); i++)
		kept.by[i].tid = stack[i] ? stack[i]->thread : 0;
	print_headline(&kept);
	print_stack(report->how & KF_REPORT_LATE ? "found when it was freed"
						 : "done",
		    stack[KF_REPORT_DONE]);
	print_stack("allocated", stack[KF_REPORT_CAME]);
	print_stack("freed", stack[KF_REPORT_WENT]);
	for (size_t i = 0; i < KF_ARRAY_SIZE(stack); i++)
		kept.by[i].stack = stack[i] ? kf_sample_trace(stack[i]) : 0;
	kf_reports_put(&kept);
}

static bool claim_print(void)
{
	uint64_t self = kf_thread_self();

	for (int i = 0; i < MOST_YIELDS; i++) {
		if (kf_claim(&guarding.reporter, self))
			return true;
		/* The report itself faulted. */
		if (kf_load(&guarding.reporter) == self)
			return false;
		kf_thread_yield();
	}
	return false;
}

static void guarding_die(void)
{
	char buf[128];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: the program ends, as on_error says\n");
	kf_out_die(&text);
}

static void guarding_tell(const struct guarding_report *report)
{
	kf_word_add_atomic(counters[report->kind], 1);
	kf_probe_guard_fault((uintptr_t)report->at,
			     report->slot ? (uintptr_t)report->slot->block : 0,
			     report->kind);
	if (claim_print()) {
		guarding_print(report);
		kf_store_release(&guarding.reporter, 0);
	}
	if (guarding.ends)
		guarding_die();
}

/* @write: 1: it wrote, 0: it read, -1: neither is known */
static uint32_t guarding_how(int write)
{
	if (write < 0)
		return 0;
	return write ? KF_REPORT_WRITE : KF_REPORT_READ;
}

/* In the signal handler. */
static bool guarding_repair(const siginfo_t *info, const void *context)
{
	struct guarding_report report = {
		.at = info->si_addr,
		.context = context,
	};
	struct kf_guarded_slot *slot;
	bool first;

	if (!kf_guarded_holds(report.at))
		return false;
	report.kind = kf_guarded_judge(report.at, &slot);
	report.slot = slot;
	if (!kf_guarded_admit(report.at, &first))
		return false;
	if (!first || (slot && !kf_guarded_tell(slot)))
		return true;
	report.how = guarding_how(kf_fault_is_write(context));
	guarding_tell(&report);
	return true;
}

/* A free found bytes written behind the block. */
static void guarding_report_late(struct kf_guarded_slot *slot, const void *at)
{
	const struct guarding_report report = {
		.kind = KF_GUARDED_OVERFLOW,
		.slot = slot,
		.at = at,
		.how = KF_REPORT_WRITE | KF_REPORT_LATE,
	};

	if (kf_guarded_tell(slot))
		guarding_tell(&report);
}

bool kf_guarding_misuse(enum konf_misuse wrong, const void *p)
{
	struct guarding_report report = {.at = p};
	struct kf_guarded_slot *slot;

	if (!kf_guarded_holds(p))
		return false;
	slot = kf_guarded_slot_of(p);
	report.slot = slot;
	report.kind = wrong == KONF_DOUBLE_FREE ? KF_GUARDED_DOUBLE_FREE
						: KF_GUARDED_INVALID_FREE;
	if (!slot || kf_guarded_tell(slot))
		guarding_tell(&report);
	return true;
}

static const struct kf_fault_hooks hooks = {
	.repair = guarding_repair,
	.open = kf_guarded_open,
	.close = kf_guarded_close,
};

static bool addresses_suffice(unsigned int live)
{
	struct rlimit limit;
	size_t bytes = (size_t)live * KF_GUARDED_SLOTS_EACH * 2 * KF_PAGE;

	return !kf_sys(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) &&
	       bytes <= limit.rlim_cur / ADDRESSES_PART;
}

static uint64_t guarding_wait(void)
{
	return 1000000000 / kf_conf.guard_rate;
}

void kf_guarding_start(void)
{
	if (!kf_conf.guard_slots || !kf_env_is_trusted() ||
	    kf_engine_is_hosted() || kf_vm_page() != KF_PAGE)
		return;
	guarding.ends = kf_conf_is_set(&kf_conf.on_error) &&
			kf_conf.on_error != KF_ON_ERROR_COUNT;
	guarding.slots = (unsigned int)KF_MIN(kf_conf.guard_slots,
					      (uint64_t)KF_GUARDED_MOST);
	/* A program that ends at once does not pay for the pool. */
	if (kf_conf.guard_rate)
		guarding.next = kf_now_coarse_ns() + guarding_wait();
}

bool kf_guarding_is_on(void)
{
	return guarding.slots;
}

/* Whether the pool is there; the first caller makes it. */
static bool guarding_is_ready(void)
{
	uint32_t stage = kf_load_acquire(&guarding.stage);
	bool done;

	if (likely(stage == READY))
		return true;
	if (stage != NOT_STARTED || !kf_claim(&guarding.stage, STARTING))
		return false;
	done = !kf_fault_is_blocked() && addresses_suffice(guarding.slots) &&
	       kf_guarded_start(guarding.slots, guarding_report_late);
	kf_store_release(&guarding.stage, done ? READY : FAILED);
	return done;
}

/* Whether enough time has passed; then the next wait begins. */
static bool guarding_is_time(void)
{
	uint64_t now, next = kf_load(&guarding.next), wait;

	if (!kf_conf.guard_rate)
		return true;
	now = kf_now_coarse_ns();
	if (now < next)
		return false;
	wait = guarding_wait()
	       << kf_guarded_nr_live() * MOST_DOUBLED / guarding.slots;
	return kf_cas(&guarding.next, &next, now + wait);
}

void *kf_guarding_alloc(size_t size, size_t align, bool zeroed, uint32_t mark)
{
	void *p;

	if (!guarding.slots || !kf_guarded_may(size, align) ||
	    !guarding_is_time() || kf_process_is_barred() ||
	    !guarding_is_ready() || !kf_fault_install(&hooks))
		return NULL;
	p = kf_guarded_alloc(size, align, zeroed, mark);
	if (p) {
		kf_word_add_atomic(KF_WORD_guarded, 1);
		kf_probe_guard_alloc((uintptr_t)p, size);
	}
	return p;
}

void kf_guarding_fork_child(void)
{
	kf_store(&guarding.reporter, 0);
	kf_fault_fork_child();
}
