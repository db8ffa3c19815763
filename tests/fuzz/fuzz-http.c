/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a client may say in its headers and arguments, and names of any bytes
 * that come back to it: a format is chosen, and what is escaped for a page or
 * for a scrape cannot end where it stands.
 */
#include "config.h"

#include "exporter/buf.h"
#include "exporter/http/gzip.h"
#include "exporter/collect/model.h"
#include "exporter/collect/writer.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

#define TEXT 2048

static void check_html(const char *text)
{
	struct kf_buf out = {0};

	kf_buf_html(&out, text);
	fuzz_require(!out.data || !strpbrk(out.data, "<>\"'"),
		     "a name is markup");
	kf_buf_free(&out);
}

/* A label's value ends at the first quote that no backslash precedes. */
static void check_label(const char *text)
{
	struct kf_buf out = {0};

	kf_buf_escape(&out, text, true);
	for (size_t i = 0; i < out.len; i++) {
		fuzz_require(out.data[i] != '"' && out.data[i] != '\n',
			     "a label ends before its end");
		if (out.data[i] == '\\')
			i++;
	}
	kf_buf_free(&out);
}

/* What is rendered is read back, between other labels. */
static void check_rendered(const char *text)
{
	const struct kf_label label[] = {{"a", text}, {"b", "1"}, {"c", text}};
	struct kf_page page = {0};
	const char *labels = kf_page_labels(&page, label, KF_ARRAY_SIZE(label));
	struct kf_label got;

	for (size_t i = 0; i < KF_ARRAY_SIZE(label); i++) {
		fuzz_require(kf_labels_next(&page, &labels, &got) &&
				     !strcmp(got.name, label[i].name) &&
				     !strcmp(got.value, label[i].value),
			     "a label is another one when it is read");
	}
	fuzz_require(!*labels && !kf_labels_next(&page, &labels, &got),
		     "there are more labels than there were");
	kf_page_release(&page);
}

static void check_clean(const char *text)
{
	char clean[200];

	kf_utf8_clean(clean, sizeof(clean), text);
	fuzz_require(memchr(clean, '\0', sizeof(clean)), "a name has no end");
	check_label(clean);
	check_rendered(clean);
	check_html(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	char accept[TEXT], encoding[TEXT], name[TEXT];

	fuzz_text(&in, accept, sizeof(accept));
	fuzz_text(&in, encoding, sizeof(encoding));
	fuzz_text(&in, name, sizeof(name));
	fuzz_require(kf_format_choose(accept), "no format is chosen");
	kf_gzip_wanted(encoding);
	check_html(name);
	check_label(name);
	check_clean(name);
	return 0;
}
