/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "cli/commands/record-order.h"

#include "base/text.h"
#include "cli/order.h"
#include "cli/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How long a process may take to carry out an order, in seconds. */
#define ORDER_S 3

static enum kf_order_result order_number(const struct kf_file *f,
					 const char *id, uint64_t value,
					 struct kf_answer *answer)
{
	char *text = kf_format("%s=%llu", id, (unsigned long long)value);
	enum kf_order_result result =
		kf_order_give("/proc", f, text, ORDER_S, 0, answer);

	free(text);
	return result;
}

/* Returns the exit status, after a message where it is not 0. */
static int tell_order(const struct kf_cli *cli, const struct kf_file *f,
		      enum kf_order_result result,
		      const struct kf_answer *answer, bool needed)
{
	char safe[4 * sizeof(answer->reply)], why[KF_ORDER_REFUSAL];

	needed &= kf_order_refusal(result, answer, why);
	if (result == KF_ORDER_DONE)
		kf_note(cli, "record: process %d takes %s", kf_process_id(f),
			kf_escape(safe, sizeof(safe), answer->reply));
	else if (result == KF_ORDER_LATE)
		kf_note(cli,
			"record: process %d takes no samples yet: it starts "
			"at its next slow path",
			kf_process_id(f));
	else if (needed)
		kf_error(
			"record: process %d takes no samples, and the order to start failed: %s",
			kf_process_id(f), why);
	return needed ? KF_EXIT_FAILED : 0;
}

/*
 * Samples of a process that runs are wanted, or there would be nothing; and
 * more than it takes by default.
 */
static int order_samples(const struct kf_cli *cli, struct kf_record_orders *o,
			 const struct kf_file *f)
{
	uint64_t mean = kf_snapshot_value(&f->snap, "sample_mean");
	struct kf_answer answer = {0};
	enum kf_order_result result;
	bool by_default = kf_snapshot_value(&f->snap, "sample_default");
	uint64_t wanted;
	bool needed;

	if (mean && !by_default && !o->sample)
		return 0;
	kf_parse_size(o->sample ? o->sample : KF_RECORD_SAMPLE, &wanted);
	if (wanted == mean && !by_default)
		return 0;
	needed = o->first &&
		 (o->sample || !kf_snapshot_value(&f->snap, "samples"));
	result = order_number(f, "sample", wanted, &answer);
	o->samples = result == KF_ORDER_DONE || result == KF_ORDER_LATE;
	o->late = result == KF_ORDER_LATE;
	o->wanted = wanted;
	o->mean = mean;
	o->by_default = by_default;
	return tell_order(cli, f, result, &answer, needed);
}

int kf_record_orders_mark(struct kf_record_orders *o, const struct kf_file *f)
{
	struct kf_answer answer = {0};
	char why[KF_ORDER_REFUSAL];

	o->late &= kf_snapshot_value(&f->snap, "sample_mean") != o->wanted;
	if (!o->family || o->marks || o->late || o->family == f->snap.family)
		return 0;
	o->marks = !kf_order_refusal(
		order_number(f, "family", o->family, &answer), &answer, why);
	o->relatives = f->snap.family;
	if (o->marks)
		return 0;
	o->family = 0;
	kf_error(
		"record: --follow: the order to process %d to mark its children failed: %s",
		kf_process_id(f), why);
	return KF_EXIT_FAILED;
}

int kf_record_orders_give(const struct kf_cli *cli, struct kf_record_orders *o,
			  const struct kf_file *f)
{
	int status = order_samples(cli, o, f);

	return status ? status : kf_record_orders_mark(o, f);
}

bool kf_record_orders_any(const struct kf_record_orders *o)
{
	return o->samples || o->marks;
}

void kf_record_orders_back(const struct kf_record_orders *o,
			   const struct kf_file *f)
{
	struct kf_answer answer;

	/* where the process does not allocate the last order is what counts */
	if (o->marks)
		order_number(f, "family", o->relatives, &answer);
	if (o->samples && o->by_default)
		kf_order_give("/proc", f, "sample=default", ORDER_S, 0,
			      &answer);
	else if (o->samples)
		order_number(f, "sample", o->mean, &answer);
}

void kf_record_tell_followed(const struct kf_cli *cli,
			     const struct kf_follower *w)
{
	size_t running = kf_follow_running(w);

	if (w->nr)
		kf_note(cli, "record: the profile includes %zu other process%s",
			w->nr, w->nr == 1 ? "" : "es");
	if (running)
		kf_note(cli,
			"record: %zu other process%s: the profile has their samples until now",
			running, running == 1 ? " still runs" : "es still run");
}
