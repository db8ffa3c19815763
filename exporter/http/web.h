/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The web configuration at work: the one that holds now, and who may come in.
 *
 * Promises: a wrong password takes as long for a user that there is not as for
 * one that there is, whatever bcrypt's cost is for each, and is compared in
 * constant time. Guesses cost one processor at most, and an address has so many
 * of them in a minute; who was let in before is let in all the same.
 */
#ifndef KF_EXPORTER_HTTP_WEB_H
#define KF_EXPORTER_HTTP_WEB_H

#include "exporter/http/peer.h"
#include "exporter/config/web_config.h"

struct kf_web;

/**
 * kf_web_open() - begin with a web configuration
 * @path:	the file, or NULL for none: then all may come in
 * @max_wrong:	passwords that may be wrong in a minute, of each address; 0: all
 *
 * Context: once, before there are threads.
 * Return: the configuration, or NULL; the reason was printed on stderr.
 */
struct kf_web *kf_web_open(const char *path, unsigned int max_wrong);

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

enum kf_web_answer {
	KF_WEB_COMES_IN,
	KF_WEB_IS_REFUSED,
	KF_WEB_HAS_TO_WAIT, /* it gave too many wrong passwords */
};

/**
 * kf_web_asks() - whether a user may come in
 * @w:		the configuration
 * @c:		as kf_web_get() gave it
 * @peer:	who asks
 * @user:	the name that was given, or NULL
 * @password:	likewise
 *
 * Context: any thread; may take as long as bcrypt does.
 * Return: KF_WEB_COMES_IN where the password is right, or where there are no
 *	   users.
 */
enum kf_web_answer kf_web_asks(struct kf_web *w, const struct kf_web_config *c,
			       const struct kf_peer *peer, const char *user,
			       const char *password);

#endif
