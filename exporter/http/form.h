/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The form of a page by which a browser sends an order to a process.
 *
 * A page of another site can make a browser send such a form, with the
 * browser's password. Such a request has another Origin or Sec-Fetch-Site, and
 * lacks the token: a secret of this exporter's process, which only its own
 * pages contain.
 */
#ifndef KF_EXPORTER_HTTP_FORM_H
#define KF_EXPORTER_HTTP_FORM_H

#include "base/compiler.h"

#include <microhttpd.h>

#define KF_TOKEN_SIZE 65 /* 256 bits as hexadecimal digits */
#define KF_FORM_FIELD 80 /* longer values are refused */

/* A request's form, while its body arrives. */
struct kf_form {
	struct MHD_PostProcessor *parser;
	size_t received; /* bytes of the body */
	bool refused;	 /* a field is too long or repeated */
	char token[KF_FORM_FIELD];
	char id[KF_FORM_FIELD];
	char order[KF_FORM_FIELD];
};

/**
 * kf_token_make() - make a random token
 * @token:	out: the token
 *
 * Return: false if there is no randomness.
 */
bool kf_token_make(char token[KF_TOKEN_SIZE]);

/**
 * kf_form_is_foreign() - whether a page of another site sent a request
 * @c:		its connection
 *
 * Return: true by Origin or Sec-Fetch-Site. Programs that are no browsers send
 *	   neither.
 */
bool kf_form_is_foreign(struct MHD_Connection *c);

/**
 * kf_form_make() - begin to read a form
 * @c:		its connection, with the header of the request
 *
 * Return: the form; NULL if the body is no form, or out of memory.
 */
struct kf_form *kf_form_make(struct MHD_Connection *c);

/**
 * kf_form_add() - read a part of the body
 * @form:	the form
 * @data:	the part
 * @size:	bytes of @data
 */
void kf_form_add(struct kf_form *form, const char *data, size_t size);

/**
 * kf_form_end() - check a form whose body has arrived
 * @form:	the form
 * @token:	the right token
 *
 * Takes the same time for all wrong tokens of the right length.
 *
 * Return: true if the form has the token, and no field was refused.
 */
bool kf_form_end(struct kf_form *form, const char *token);

/**
 * kf_form_free() - free a form
 * @form:	the form, or NULL
 */
void kf_form_free(struct kf_form *form);

#endif
