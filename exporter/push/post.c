/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests to receivers: see post.h.
 */
#include "config.h"

#include "exporter/push/post.h"

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
	bool (*late)(void *of);
	void *of;
	const struct kf_receiver *to;
	struct kf_buf answer;
	char error[CURL_ERROR_SIZE];
};

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

	return p->late(p->of);
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

struct kf_post *kf_post_open(const struct kf_receiver *to,
			     bool (*late)(void *of), void *of)
{
	struct kf_post *p = calloc(1, sizeof(*p));

	if (p && curl_global_init(CURL_GLOBAL_DEFAULT) == 0)
		p->curl = curl_easy_init();
	if (p && p->curl && post_set(p, to->ca_file)) {
		p->to = to;
		p->late = late;
		p->of = of;
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
	int fd = open(p->to->headers_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		got = read(fd, text, sizeof(text));
	snprintf(error, size, "%s: %s", p->to->headers_file,
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

static bool post_make_headers(const struct kf_post *p,
			      const struct kf_post_kind *kind, bool packed,
			      struct curl_slist **list, char *error,
			      size_t size)
{
	char type[80];

	if (p->to->headers_file && !post_read_headers(p, list, error, size))
		return false;
	snprintf(error, size, "out of memory");
	snprintf(type, sizeof(type), "Content-Type: %s", kind->type);
	/* without a wait for "100 Continue" */
	return post_add(list, type) && post_add(list, "Expect:") &&
	       (!packed || post_add(list, "Content-Encoding: gzip"));
}

void kf_post_note(struct kf_post_answer *a, const char *text)
{
	size_t len = strlen(a->error);

	if (!*text)
		return;
	snprintf(a->error + len, sizeof(a->error) - len, "%s%.400s",
		 len ? ": " : "", text);
	for (char *c = a->error + len; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	}
}

static bool post_judge(struct kf_post *p, const struct kf_post_kind *kind,
		       CURLcode rc, struct kf_post_answer *a)
{
	curl_off_t retry = 0;
	long status = 0;
	char text[32];

	a->error[0] = '\0';

	if (rc != CURLE_OK) {
		a->again = true;
		kf_post_note(a,
			     p->error[0] ? p->error : curl_easy_strerror(rc));
		return false;
	}
	curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &retry);
	if (status >= 200 && status < 300) {
		if (kind->accepted)
			kind->accepted(&p->answer, a);
		return true;
	}
	a->again = status == 429 || status == 502 || status == 503 ||
		   status == 504;
	a->retry_s = (unsigned int)KF_MIN(retry, (curl_off_t)MAX_RETRY_S);
	snprintf(text, sizeof(text), "status %ld", status);
	kf_post_note(a, text);
	kind->failed(&p->answer, a);
	return false;
}

static bool post_send(struct kf_post *p, const struct kf_post_kind *kind,
		      const char *url, const struct kf_buf *body,
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
	return post_judge(p, kind, rc, a);
}

bool kf_post(struct kf_post *p, const struct kf_post_kind *kind,
	     const struct kf_post_request *q, struct kf_post_answer *a)
{
	size_t len = strlen(p->to->url);
	struct curl_slist *headers = NULL;
	struct kf_buf url = {0};
	bool accepted = false;

	*a = (struct kf_post_answer){.again = true};
	while (len && p->to->url[len - 1] == '/')
		len--;
	kf_buf_fmt(&url, "%.*s%s", (int)len, p->to->url, kind->path);
	if (!url.failed && post_make_headers(p, kind, q->packed, &headers,
					     a->error, sizeof(a->error)))
		accepted = post_send(p, kind, url.data, &q->body, headers, a);
	curl_slist_free_all(headers);
	kf_buf_free(&url);
	return accepted;
}

void kf_post_free(struct kf_post_request *list)
{
	while (list) {
		struct kf_post_request *next = list->next;

		kf_buf_free(&list->body);
		free(list);
		list = next;
	}
}
