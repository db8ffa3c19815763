/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests of OTLP: see post.h.
 */
#include "config.h"

#include "exporter/otlp/post.h"

#include "exporter/otlp/otlp.pb-c.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 10
#define MAX_ANSWER ((size_t)64 << 10)
#define MAX_HEADERS ((ssize_t)16 << 10)
#define MAX_RETRY_S 86400

struct kf_post {
	CURL *curl;
	bool (*late)(void);
	const char *endpoint;
	const char *headers;
	struct kf_buf answer;
	char error[CURL_ERROR_SIZE];
};

/* The version of the profiles' protocol is in their path. */
static const char *post_path(const char *signal)
{
	return strcmp(signal, "profiles") == 0 ? "v1development" : "v1";
}

/* Is a CURLOPT_WRITEFUNCTION. What is too long is no message; the status is. */
static size_t post_take(char *data, size_t one, size_t nr, void *to)
{
	struct kf_post *p = to;

	kf_buf_add(&p->answer, data,
		   KF_MIN(one * nr, MAX_ANSWER - p->answer.len));
	return nr;
}

/* Is a CURLOPT_XFERINFOFUNCTION, called once a second and more often. */
static int post_is_to_end(void *of, curl_off_t down_total, curl_off_t down,
			  curl_off_t up_total, curl_off_t up)
{
	const struct kf_post *p = of;

	return p->late();
}

static bool post_set(struct kf_post *p, const char *ca)
{
	CURL *c = p->curl;

	return curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") ==
		       CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)LIMIT_S) ==
		       CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_ERRORBUFFER, p->error) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, post_take) ==
		       CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_WRITEDATA, p) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, post_is_to_end) ==
		       CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_XFERINFODATA, p) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_USERAGENT,
				PACKAGE_NAME
				"_exporter/" PACKAGE_VERSION) == CURLE_OK &&
	       (!ca || curl_easy_setopt(c, CURLOPT_CAINFO, ca) == CURLE_OK);
}

struct kf_post *kf_post_open(const char *endpoint, const char *headers,
			     const char *ca, bool (*late)(void))
{
	struct kf_post *p = calloc(1, sizeof(*p));

	if (p && curl_global_init(CURL_GLOBAL_DEFAULT) == 0)
		p->curl = curl_easy_init();
	if (p && p->curl && post_set(p, ca)) {
		p->endpoint = endpoint;
		p->headers = headers;
		p->late = late;
		return p;
	}
	fprintf(stderr, "konfiscator_exporter: cannot set up libcurl\n");
	kf_post_close(p);
	return NULL;
}

void kf_post_close(struct kf_post *p)
{
	if (!p)
		return;
	if (p->curl)
		curl_easy_cleanup(p->curl);
	kf_buf_free(&p->answer);
	free(p);
	curl_global_cleanup();
}

static bool post_add(struct curl_slist **list, const char *line)
{
	struct curl_slist *more = curl_slist_append(*list, line);

	if (more)
		*list = more;
	return more;
}

/* The file holds secrets: its contents are not printed. */
static bool post_read_headers(const struct kf_post *p, struct curl_slist **list,
			      char *error, size_t size)
{
	char text[MAX_HEADERS + 1], *line, *rest = text;
	ssize_t got = -1;
	bool right = true;
	int fd = open(p->headers, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		got = read(fd, text, sizeof(text));
	snprintf(error, size, "%s: %s", p->headers,
		 got < 0	     ? strerror(errno)
		 : got > MAX_HEADERS ? "more than 16384 bytes"
				     : "not lines of NAME: VALUE");
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return false;
	right = got <= MAX_HEADERS;
	text[right ? got : 0] = '\0';
	while (right && (line = strsep(&rest, "\n"))) {
		if (!*line || *line == '#')
			continue;
		right = strchr(line, ':') && !strpbrk(line, "\r") &&
			post_add(list, line);
	}
	explicit_bzero(text, sizeof(text));
	return right;
}

static bool post_make_headers(const struct kf_post *p, bool packed,
			      struct curl_slist **list, char *error,
			      size_t size)
{
	if (p->headers && !post_read_headers(p, list, error, size))
		return false;
	snprintf(error, size, "out of memory");
	/* without a wait for "100 Continue" */
	return post_add(list, "Content-Type: application/x-protobuf") &&
	       post_add(list, "Expect:") &&
	       (!packed || post_add(list, "Content-Encoding: gzip"));
}

/* A message of a receiver, in one line. */
static void post_note(struct kf_post_answer *a, const char *text)
{
	snprintf(a->error, sizeof(a->error), "%.400s", text);
	for (char *c = a->error; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	}
}

static void post_read_answer(const struct kf_post *p, struct kf_post_answer *a)
{
	Kf__Otlp__Answer *answer = kf__otlp__answer__unpack(
		NULL, p->answer.len, (const uint8_t *)p->answer.data);

	if (answer && answer->partial) {
		a->rejected = answer->partial->rejected > 0
				      ? (uint64_t)answer->partial->rejected
				      : 0;
		post_note(a, answer->partial->error);
	}
	if (answer)
		kf__otlp__answer__free_unpacked(answer, NULL);
}

/* The status, and what the receiver says about it. */
static void post_note_status(const struct kf_post *p, long status,
			     struct kf_post_answer *a)
{
	Kf__Otlp__Status *s = kf__otlp__status__unpack(
		NULL, p->answer.len, (const uint8_t *)p->answer.data);
	const char *why = s ? s->message : "";
	char text[sizeof(a->error)];

	snprintf(text, sizeof(text), "status %ld%s%s", status, *why ? ": " : "",
		 why);
	post_note(a, text);
	if (s)
		kf__otlp__status__free_unpacked(s, NULL);
}

static bool post_judge(struct kf_post *p, CURLcode rc, struct kf_post_answer *a)
{
	curl_off_t retry = 0;
	long status = 0;

	if (rc != CURLE_OK) {
		a->again = true;
		post_note(a, p->error[0] ? p->error : curl_easy_strerror(rc));
		return false;
	}
	curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &retry);
	if (status >= 200 && status < 300) {
		post_read_answer(p, a);
		return true;
	}
	a->again = status == 429 || status == 502 || status == 503 ||
		   status == 504;
	a->retry_s = (unsigned int)KF_MIN(retry, (curl_off_t)MAX_RETRY_S);
	post_note_status(p, status, a);
	return false;
}

static bool post_send(struct kf_post *p, const char *url,
		      const struct kf_buf *body,
		      const struct curl_slist *headers,
		      struct kf_post_answer *a)
{
	CURL *c = p->curl;
	CURLcode rc;

	p->answer.len = 0;
	p->error[0] = '\0';
	rc = curl_easy_setopt(c, CURLOPT_URL, url);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
				      (curl_off_t)body->len);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(c, CURLOPT_POSTFIELDS, body->data);
	if (rc == CURLE_OK)
		rc = curl_easy_perform(c);
	return post_judge(p, rc, a);
}

bool kf_post(struct kf_post *p, const char *signal,
	     const struct kf_otlp_request *q, struct kf_post_answer *a)
{
	size_t len = strlen(p->endpoint);
	struct curl_slist *headers = NULL;
	struct kf_buf url = {0};
	bool accepted = false;

	*a = (struct kf_post_answer){.again = true};
	while (len && p->endpoint[len - 1] == '/')
		len--;
	kf_buf_fmt(&url, "%.*s/%s/%s", (int)len, p->endpoint, post_path(signal),
		   signal);
	if (!url.failed && post_make_headers(p, q->packed, &headers, a->error,
					     sizeof(a->error)))
		accepted = post_send(p, url.data, &q->body, headers, a);
	curl_slist_free_all(headers);
	kf_buf_free(&url);
	return accepted;
}
