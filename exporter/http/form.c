/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Forms with orders: see form.h.
 */
#include "config.h"

#include "exporter/http/form.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_BODY 4096
#define PARSER_ROOM 512 /* libmicrohttpd wants 256 or more */

bool kf_token_make(char token[KF_TOKEN_SIZE])
{
	unsigned char secret[(KF_TOKEN_SIZE - 1) / 2];

	if (gnutls_rnd(GNUTLS_RND_KEY, secret, sizeof(secret)) != 0)
		return false;
	for (size_t i = 0; i < sizeof(secret); i++)
		snprintf(token + 2 * i, 3, "%02x", secret[i]);
	return true;
}

static const char *form_header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* The scheme is not compared: a proxy may speak TLS for this server. */
static bool form_origin_is(const char *origin, const char *host)
{
	const char *name = strstr(origin, "://");

	return name && host && strcasecmp(name + strlen("://"), host) == 0;
}

bool kf_form_is_foreign(struct MHD_Connection *c)
{
	const char *site = form_header(c, "Sec-Fetch-Site");
	const char *origin = form_header(c, "Origin");

	return (site && strcmp(site, "same-origin") != 0) ||
	       (origin && !form_origin_is(origin, form_header(c, "Host")));
}

static char *form_field(struct kf_form *form, const char *key)
{
	if (strcmp(key, "token") == 0)
		return form->token;
	if (strcmp(key, "id") == 0)
		return form->id;
	return strcmp(key, "order") == 0 ? form->order : NULL;
}

/*
 * A value may come in parts; one that begins again is there twice. A part of
 * multipart/form-data may lack a name.
 */
static enum MHD_Result form_take(void *cls, enum MHD_ValueKind kind,
				 const char *key, const char *file,
				 const char *type, const char *coding,
				 const char *data, uint64_t offset, size_t size)
{
	struct kf_form *form = cls;
	char *field = key ? form_field(form, key) : NULL;

	if (!field)
		return MHD_YES;
	if (offset != strlen(field) || offset + size >= KF_FORM_FIELD ||
	    (size && memchr(data, '\0', size))) {
		form->refused = true;
		return MHD_NO;
	}
	if (size)
		memcpy(field + offset, data, size);
	field[offset + size] = '\0';
	return MHD_YES;
}

struct kf_form *kf_form_make(struct MHD_Connection *c)
{
	struct kf_form *form = calloc(1, sizeof(*form));

	if (!form)
		return NULL;
	form->parser =
		MHD_create_post_processor(c, PARSER_ROOM, form_take, form);
	if (form->parser)
		return form;
	free(form);
	return NULL;
}

void kf_form_add(struct kf_form *form, const char *data, size_t size)
{
	form->received += size;
	if (form->received > MAX_BODY)
		form->refused = true;
	if (!form->refused &&
	    MHD_post_process(form->parser, data, size) != MHD_YES)
		form->refused = true;
}

bool kf_form_end(struct kf_form *form, const char *token)
{
	size_t len = strlen(token);

	/* the parser keeps the end of the last value until here */
	MHD_destroy_post_processor(form->parser);
	form->parser = NULL;
	return !form->refused && strlen(form->token) == len &&
	       gnutls_memcmp(form->token, token, len) == 0;
}

void kf_form_free(struct kf_form *form)
{
	if (form && form->parser)
		MHD_destroy_post_processor(form->parser);
	free(form);
}
