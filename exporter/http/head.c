/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The headers of responses: see head.h.
 */
#include "config.h"

#include "exporter/http/head.h"

#include <stdio.h>

/* Scripts come, and load data, from this server alone. */
#define POLICY(forms)                                                      \
	"default-src 'none'; style-src 'self'; img-src 'self'; "           \
	"base-uri 'none'; form-action " forms "; frame-ancestors 'none'; " \
	"script-src 'self'; connect-src 'self'"

static void head_add_default(struct MHD_Response *r, const struct kf_head *head)
{
	const char *const ours[KF_NR_WEB_HEADERS] = {
		head->forms ? POLICY("'self'") : POLICY("'none'"), NULL,
		"nosniff", NULL, NULL};
	const struct kf_web_config *c = head->config;
	const char *value;
	size_t i;

	for (i = 0; i < KF_NR_WEB_HEADERS; i++) {
		value = c && c->header[i] ? c->header[i] : ours[i];
		if (value && *value)
			MHD_add_response_header(r, kf_web_header_names[i],
						value);
	}
	/* without a referrer a browser sends forms with Origin: null */
	MHD_add_response_header(r, "Referrer-Policy",
				head->forms ? "same-origin" : "no-referrer");
	MHD_add_response_header(r, "Cache-Control",
				head->lasting
					? "private, max-age=31536000, immutable"
					: "no-store");
}

void kf_head_add(struct MHD_Response *r, const struct kf_head *head,
		 enum kf_code code)
{
	char seconds[16];

	head_add_default(r, head);
	snprintf(seconds, sizeof(seconds), "%u", KF_MAX(head->retry_s, 1u));
	/* the next bytes may not be a request */
	if (code == KF_CODE_400)
		MHD_add_response_header(r, "Connection", "close");
	if (code == KF_CODE_405)
		MHD_add_response_header(r, "Allow", head->allow);
	if (code == KF_CODE_503 || code == KF_CODE_429)
		MHD_add_response_header(r, "Retry-After", seconds);
	if (code == KF_CODE_401)
		MHD_add_response_header(
			r, "WWW-Authenticate",
			"Basic realm=\"konfiscator\", charset=\"UTF-8\"");
}
