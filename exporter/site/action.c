/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Buttons of a process' page, and the orders that they send. An order is given
 * as by konfiscator ctl, and only a few are allowed.
 */
#include "config.h"

#include "exporter/log.h"
#include "exporter/site/site.h"
#include "reader/human.h"
#include "reader/order.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* A process that allocates answers sooner. */
#define BUSY_S 1

#define OFTEN (64 * KF_KIB)

const char *const kf_action_words[KF_NR_ACTION_RESULTS] = {
	[KF_ACTION_DONE] = "given",
	[KF_ACTION_UNKNOWN] = "not allowed",
	[KF_ACTION_NO_PROCESS] = "no such process",
	[KF_ACTION_FAILED] = "failed",
};

/* What a process does about samples. */
struct sampling {
	uint64_t mean; /* 0: off */
	bool by_default;
};

static bool action_is_other(const struct sampling *now)
{
	return now->by_default || now->mean != OFTEN;
}

static bool action_is_chosen(const struct sampling *now)
{
	return !now->by_default;
}

static bool action_is_on(const struct sampling *now)
{
	return now->mean;
}

static const struct {
	const char *order;
	const char *button;
	bool (*fits)(const struct sampling *now);
} actions[] = {
	{"sample=64K", "Sample one block per 64 KiB", action_is_other},
	{"sample=default", "Sample as at its start", action_is_chosen},
	{"sample=0", "Switch sampling off", action_is_on},
};

static void action_state(const struct sampling *now, struct kf_buf *out)
{
	if (!now->mean) {
		kf_buf_str(out, "<p>Sampling is off.</p>\n");
		return;
	}
	kf_buf_str(out, "<p>One block per ");
	kf_html_bytes(out, (double)now->mean);
	kf_buf_fmt(out, " is sampled%s.</p>\n",
		   now->by_default ? ", the default" : "");
}

void kf_site_actions(const struct kf_site *site,
		     const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_buf *out)
{
	const struct sampling now = {
		.mean = kf_snapshot_value(s, "sample_mean"),
		.by_default = kf_snapshot_value(s, "sample_default"),
	};

	if (!site->token || subject->ended)
		return;
	kf_buf_str(out, "<section id=\"actions\">\n<h2>Sampling</h2>\n");
	action_state(&now, out);
	kf_buf_fmt(out,
		   "<form method=\"post\" action=\"" KF_ORDER_PATH "\"><p>\n"
		   "<input type=\"hidden\" name=\"token\" value=\"%s\" />\n"
		   "<input type=\"hidden\" name=\"id\" value=\"%016" PRIx64
		   "\" />\n",
		   site->token, subject->id);
	for (size_t i = 0; i < KF_ARRAY_SIZE(actions); i++) {
		if (actions[i].fits(&now))
			kf_buf_fmt(out,
				   "<button name=\"order\" value=\"%s\">%s"
				   "</button>\n",
				   actions[i].order, actions[i].button);
	}
	kf_buf_str(out, "</p></form>\n</section>\n");
}

static bool action_is_allowed(const char *order)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].order, order) == 0)
			return true;
	}
	return false;
}

/* The user id of the stats file's process is left in @uid. */
static enum kf_order_result action_give(const struct kf_site *site,
					const struct kf_subject *subject,
					const char *order, uint32_t *uid,
					struct kf_answer *answer)
{
	enum kf_order_result result = KF_ORDER_ERROR;
	struct kf_file f = {.pid = subject->pid};
	const char *name;
	int error = ESTALE;

	f.dirfd = kf_place_of(subject->path, &name);
	if (f.dirfd < 0)
		return result;
	f.name = (char *)(size_t)name;
	kf_snapshot_read_with(f.dirfd, name, 0, &f.snap);
	*uid = f.snap.id.uid;
	if (f.snap.result == KF_READ_OK) {
		result = kf_order_give(site->sources->groups->conf.procfs, &f,
				       order, BUSY_S, 0, answer);
		error = errno;
	}
	kf_snapshot_release(&f.snap);
	close(f.dirfd);
	errno = error;
	return result;
}

static void action_failed(const struct kf_subject *subject,
			  enum kf_order_result result, uint32_t uid,
			  const struct kf_answer *answer, struct kf_buf *out)
{
	bool may = result != KF_ORDER_ERROR ||
		   (errno != EACCES && errno != EPERM && errno != EROFS);
	char why[KF_ORDER_REFUSAL] = "";

	kf_order_refusal(result, answer, why);
	if (may) {
		kf_buf_str(out, "<p>The order was not carried out: ");
		kf_html_text(out, why);
		kf_buf_str(out, "</p>\n");
		return;
	}
	kf_buf_str(out, "<p>This exporter may not write <code>");
	kf_html_text(out, subject->path);
	kf_buf_str(out, "</code> (");
	kf_html_text(out, why);
	kf_buf_fmt(out,
		   "): it needs the rights of user %" PRIu32
		   ", or CAP_DAC_OVERRIDE</p>\n",
		   uid);
}

static void action_done(const struct kf_subject *subject,
			enum kf_order_result result,
			const struct kf_answer *answer, struct kf_buf *out)
{
	if (result == KF_ORDER_LATE) {
		kf_buf_fmt(
			out,
			"<p>The order will be taken at the next slow path "
			"of process %d, which now allocates nothing, or only "
			"reuses blocks that it has just freed.</p>\n",
			subject->pid);
		return;
	}
	kf_buf_fmt(out, "<p>Process %d answers: ", subject->pid);
	kf_html_text(out, answer->reply);
	kf_buf_str(out, "</p>\n");
}

static enum kf_action_result action_send(const struct kf_site *site,
					 const struct kf_subject *subject,
					 const char *order, struct kf_buf *out)
{
	struct kf_answer answer = {0};
	enum kf_order_result result;
	uint32_t uid = 0;
	bool done;

	result = action_give(site, subject, order, &uid, &answer);
	done = result == KF_ORDER_DONE || result == KF_ORDER_LATE;
	if (done)
		action_done(subject, result, &answer, out);
	else
		action_failed(subject, result, uid, &answer, out);
	kf_buf_fmt(out,
		   "<p><a href=\"/process/%016" PRIx64 "\">Back to the "
		   "process</a></p>\n",
		   subject->id);
	return done ? KF_ACTION_DONE : KF_ACTION_FAILED;
}

enum kf_action_result kf_site_act(const struct kf_site *site, const char *id,
				  const char *order, struct kf_buf *out)
{
	const struct kf_site_request q = {.path = KF_ORDER_PATH, .id = id};
	enum kf_action_result result = KF_ACTION_UNKNOWN;
	struct kf_subject subject = {0};

	kf_html_begin(out, "order", site->telemetry_path);
	kf_buf_str(out, "<h1>Order</h1>\n");
	if (action_is_allowed(order)) {
		kf_site_scan(site);
		result = KF_ACTION_NO_PROCESS;
		if (kf_subject_find(site->sources->groups, &q, &subject) &&
		    subject.pid)
			result = action_send(site, &subject, order, out);
		kf_subject_release(&subject);
	}
	if (result == KF_ACTION_UNKNOWN)
		kf_buf_str(out, "<p>The pages send no such order.</p>\n");
	if (result == KF_ACTION_NO_PROCESS)
		kf_buf_str(out, "<p>There is no such process now.</p>\n");
	kf_html_end(out);
	return result;
}
