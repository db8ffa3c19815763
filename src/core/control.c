/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders to a process that runs: see control.h.
 *
 * Other processes can write to the file, so an order is copied first and each
 * byte checked. Set-id programs take no orders, and no process takes orders of
 * a file's owner who has fewer rights than the process.
 */
#include "core/control.h"

#include "base/text.h"
#include "core/mapping.h"
#include "core/pinning.h"
#include "core/recorder.h"
#include "core/sampling.h"
#include "core/snapshot.h"
#include "stats/stats.h"
#include "sys/env.h"
#include "sys/process.h"

#include <errno.h>
#include <string.h>

struct control {
	const char *id;
	/* Returns 0 or an errno; @reply is shown to the user.
	 */
	int (*set)(const char *value, struct kf_text *reply);
};

static uint64_t no_request;

const uint64_t *kf_control_request = &no_request;
uint64_t kf_control_seen;

static int set_record(const char *value, struct kf_text *reply)
{
	int r;

	if (!*value) {
		kf_text_str(reply, kf_recorder_stop() ? "stopped: "
						      : "nothing is recorded");
		kf_text_str(reply, kf_record_path());
		return 0;
	}
	if (*value != '/') {
		kf_text_str(reply, "record: the path is not absolute");
		return EINVAL;
	}
	r = kf_recorder_begin(value);
	kf_text_str(reply, r ? "cannot record into " : "recording into ");
	kf_text_str(reply, r ? value : kf_record_path());
	if (r == -ENOTSUP)
		kf_text_str(reply, ", which is not a regular file");
	return -r;
}

static int set_sample(const char *value, struct kf_text *reply)
{
	return kf_sampling_set(value, reply);
}

static int set_family(const char *value, struct kf_text *reply)
{
	const char *end = value;
	uint64_t family = kf_parse_digits(&end, 10);

	if (end == value || *end || end - value > 10 || family > UINT32_MAX) {
		kf_text_str(reply, "family: not a number from 0 to 4294967295");
		return EINVAL;
	}
	kf_stats_set_family((uint32_t)family);
	kf_text_str(reply, "family ");
	kf_text_str(reply, value);
	return 0;
}

static int set_pinned(const char *value, struct kf_text *reply)
{
	if (!strcmp(value, "now"))
		return kf_pinning_note(reply);
	kf_text_str(reply, "pinned: not now");
	return EINVAL;
}

static int set_map(const char *value, struct kf_text *reply)
{
	if (!strcmp(value, "now"))
		return kf_mapping_note(reply);
	kf_text_str(reply, "map: not now");
	return EINVAL;
}

static int set_dump(const char *value, struct kf_text *reply)
{
	int number;

	if (*value && *value != '/') {
		kf_text_str(reply, "dump: the path is not absolute");
		return EINVAL;
	}
	number = kf_snapshot_next(*value ? value : NULL, true);
	if (number == -EINVAL)
		kf_text_str(reply, "dump: no prefix was given");
	else if (number == -ENOTSUP)
		kf_text_str(
			reply,
			"dump: the prefix is a device, a link or another special file");
	else if (number < 0)
		kf_text_str(reply, "dump: the files cannot be written");
	else
		kf_text_str(reply, "snapshot number ");
	if (number >= 0)
		kf_text_i64(reply, number);
	return number < 0 ? -number : 0;
}

static const struct control controls[] = {
#define KF_CONTROL(id, argument, help) {#id, set_##id},
#include "core/control.def"
#undef KF_CONTROL
};

/* False if the text has no end or has control characters. */
static bool copy_order(char order[KF_STATS_CONTROL_TEXT],
		       const struct kf_stats_control *from)
{
	memcpy(order, from->text, KF_STATS_CONTROL_TEXT);
	for (size_t i = 0; i < KF_STATS_CONTROL_TEXT; i++) {
		unsigned char c = (unsigned char)order[i];

		if (!c)
			return true;
		if (c < ' ' || c == 0x7f)
			return false;
	}
	return false;
}

static int carry_out(char *order, struct kf_text *reply)
{
	char *value = strchr(order, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; value && i < KF_ARRAY_SIZE(controls); i++) {
		if (!strcmp(controls[i].id, order))
			return controls[i].set(value, reply);
	}
	kf_text_str(reply, value ? "there is no setting of that name"
				 : "the order has no =");
	return EINVAL;
}

static int obey(const struct kf_stats_control *from, struct kf_text *reply)
{
	char order[KF_STATS_CONTROL_TEXT];

	if (!kf_env_is_trusted()) {
		kf_text_str(reply, "a set-id program takes no orders");
		return EPERM;
	}
	if (kf_process_is_barred()) {
		kf_text_str(reply, "the program filters its system calls "
				   "(seccomp), and might be killed");
		return EPERM;
	}
	if (!kf_backing_is_trusted()) {
		kf_text_str(
			reply,
			"the owner of the stats file is not this process' real, effective and saved user, or has fewer rights");
		return EPERM;
	}
	if (!copy_order(order, from)) {
		kf_text_str(reply, "the order is damaged");
		return EINVAL;
	}
	return carry_out(order, reply);
}

void kf_control_obey(void)
{
	struct kf_stats_control *c = kf_stats_control();
	uint64_t request = __atomic_load_n(&c->request, __ATOMIC_ACQUIRE);
	uint64_t seen = __atomic_load_n(&kf_control_seen, __ATOMIC_RELAXED);
	char buf[KF_STATS_CONTROL_REPLY];
	struct kf_text reply;
	int r;

	if (seen == request || !__atomic_compare_exchange_n(
				       &kf_control_seen, &seen, request, false,
				       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	kf_text_init(&reply, buf, sizeof(buf));
	r = obey(c, &reply);
	memcpy(c->reply, buf, reply.len + 1);
	c->result = (uint32_t)r;
	__atomic_store_n(&c->answer, request, __ATOMIC_RELEASE);
}

void kf_control_start(void)
{
	kf_control_request = &kf_stats_control()->request;
	kf_control_seen = *kf_control_request;
}
