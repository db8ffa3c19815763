/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a tracer may print, any bytes: each line is taken, ignored or bad, and
 * the page that is made of it all is whole in both formats. So it is of what
 * stands on a page of SystemTap's.
 */
#include "config.h"

#include "exporter/trace/trace.h"
#include "exporter/collect/writer.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

static const char *const scripts[] = {"konfiscator", "sizes", "latency", "frag",
				      "mmap"};

static void show(const struct kf_trace_values *v)
{
	struct kf_page page = {0};
	struct kf_buf out = {0};

	kf_trace_show(v, &page);
	fuzz_require(!page.failed && !page.refused,
		     "values that clash on the page");
	kf_format_classic.write(&page, &out);
	kf_format_openmetrics.write(&page, &out);
	kf_format_openmetrics2.write(&page, &out);
	kf_format_protobuf.write(&page, &out);
	kf_page_release(&page);
	kf_buf_free(&out);
}

/* The same as pages: what they count may fall, what is served may not. */
static void follow(const char *text, size_t size)
{
	struct kf_trace_values values = {.script = KF_TRACE_PAGE};
	uint64_t lines[KF_NR_TRACE_LINES] = {0}, was[KF_TRACE_VALUES] = {0};
	unsigned int i;
	size_t part;

	for (part = 1; part <= 3; part++) {
		kf_trace_take_page(&values, text, size / part, lines);
		fuzz_require(values.nr <= KF_TRACE_VALUES,
			     "more values than room");
		for (i = 0; i < values.nr; i++) {
			uint64_t is = values.value[i].before.count[0] +
				      values.value[i].now.count[0];

			fuzz_require(is >= was[i], "a count that fell");
			was[i] = is;
		}
	}
	show(&values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_trace_values values = {0};
	const uint8_t *end = data + size;

	values.script =
		size ? kf_trace_known(scripts[*data % KF_ARRAY_SIZE(scripts)])
		     : NULL;
	if (!values.script)
		values.script = kf_trace_known(scripts[0]);
	for (data += size > 0; data < end;) {
		const uint8_t *eol = memchr(data, '\n', (size_t)(end - data));
		size_t len = (size_t)((eol ? eol : end) - data);

		fuzz_require(kf_trace_take(&values, (const char *)data, len) <
				     KF_NR_TRACE_LINES,
			     "no such answer");
		fuzz_require(values.nr <= KF_TRACE_VALUES,
			     "more values than room");
		/* A tracer that begins anew. */
		if (len == 1)
			kf_trace_fold(&values);
		data += len + (eol != NULL);
	}
	show(&values);
	follow((const char *)end - size, size);
	return 0;
}
