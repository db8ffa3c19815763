/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The web configuration at work: the one that holds now, and who may come in.
 *
 * Promises: a wrong password takes as long for a user that there is not as for
 * one that there is, and is compared in constant time; guesses cost one
 * processor at most.
 */
#ifndef KF_EXPORTER_WEB_H
#define KF_EXPORTER_WEB_H

#include "exporter/web_config.h"

struct kf_web;

/**
 * kf_web_open() - begin with a web configuration
 * @path:	the file, or NULL for none: then all may come in
 *
 * Context: once, before there are threads.
 * Return: the configuration, or NULL; the reason was printed on stderr.
 */
struct kf_web *kf_web_open(const char *path);

/**
 * kf_web_close() - let a configuration go
 * @w:		the configuration, or NULL
 *
 * Context: once, when nobody uses it any more.
 */
void kf_web_close(struct kf_web *w);

/**
 * kf_web_get() - the configuration that holds now
 * @w:		the configuration
 *
 * Looks whether the file has changed.
 *
 * Context: any thread.
 * Return: what holds until kf_web_put(); NULL where the file has become wrong.
 */
const struct kf_web_config *kf_web_get(struct kf_web *w);

/**
 * kf_web_put() - let go of what kf_web_get() gave
 * @w:		the configuration
 * @c:		what it gave, or NULL
 *
 * Context: any thread.
 */
void kf_web_put(struct kf_web *w, const struct kf_web_config *c);

/**
 * kf_web_allows() - whether a user may come in
 * @w:		the configuration
 * @c:		as kf_web_get() gave it
 * @user:	the name that was given, or NULL
 * @password:	likewise
 *
 * Context: any thread; may take as long as bcrypt does.
 * Return: true where the password is right, or where there are no users.
 */
bool kf_web_allows(struct kf_web *w, const struct kf_web_config *c,
		   const char *user, const char *password);

#endif
