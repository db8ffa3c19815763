/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reference-counted current configuration, and passwords.
 *
 * bcrypt is slow by design. Accepted passwords are remembered, as a digest with
 * a key of this process; wrong passwords are not, and are checked one at a
 * time.
 */
#include "config.h"

#include "exporter/http/web.h"
#include "exporter/http/guess.h"
#include "exporter/log.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DIGEST 32 /* bytes of SHA-256 */
#define NR_REMEMBERED 64

struct held {
	struct kf_web_config config; /* first: kf_web_put() casts */
	unsigned int users;	     /* under @lock of struct kf_web */
};

struct kf_web {
	const char *path;
	pthread_mutex_t lock; /* guards the fields up to the next lock */
	bool checked;	      /* at the file, which was as in @seen */
	struct stat seen;     /* all 0: not visible */
	struct held *held;    /* NULL: the file has an error */
	struct held *first;   /* that of the start, once it is over */
	unsigned int nr_remembered;
	unsigned char remembered[NR_REMEMBERED][DIGEST];
	pthread_mutex_t crypt_lock; /* one bcrypt at a time */
	struct crypt_data *crypt;
	unsigned char key[DIGEST]; /* constant */
	struct kf_guesses guesses;
};

static bool web_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void web_put(struct held *h)
{
	if (!h || --h->users)
		return;
	kf_web_config_release(&h->config);
	free(h);
}

/* What handshakes do is decided at the start; without it nobody may come in. */
static bool web_keeps_tls(const struct kf_web *w, const struct held *h,
			  char *error, size_t size)
{
	const char *what = NULL;

	if (w->first && h->config.tls != w->first->config.tls)
		what = "the use of TLS";
	else if (w->first &&
		 h->config.client_auth != w->first->config.client_auth)
		what = "client_auth_type";
	if (what)
		snprintf(error, size, "%s: %s changes only by a restart",
			 w->path, what);
	return !what;
}

/* Read the file if it has changed, so that an error is logged once. */
static void web_refresh(struct kf_web *w, char *error, size_t size)
{
	struct stat st = {0};
	struct held *h;

	error[0] = '\0';
	if (!w->path)
		return;
	if (stat(w->path, &st) != 0)
		memset(&st, 0, sizeof(st));
	if (w->checked && web_is_same(&st, &w->seen))
		return;
	w->checked = true;
	w->seen = st;
	web_put(w->held);
	w->held = NULL;
	h = calloc(1, sizeof(*h));
	if (!h) {
		snprintf(error, size, "out of memory");
		return;
	}
	if (!kf_web_config_read(&h->config, w->path, error, size) ||
	    !web_keeps_tls(w, h, error, size)) {
		kf_web_config_release(&h->config);
		free(h);
		return;
	}
	h->users = 1;
	w->held = h;
}

struct kf_web *kf_web_open(const char *path, unsigned int max_wrong)
{
	struct kf_web *w = calloc(1, sizeof(*w));
	char error[600] = "out of memory";

	if (w) {
		w->path = path;
		w->crypt = calloc(1, sizeof(*w->crypt));
		w->held = path ? NULL : calloc(1, sizeof(*w->held));
		if (w->held)
			w->held->users = 1;
		pthread_mutex_init(&w->lock, NULL);
		pthread_mutex_init(&w->crypt_lock, NULL);
		pthread_mutex_init(&w->guesses.lock, NULL);
		w->guesses.rate = max_wrong;
		if (w->crypt &&
		    gnutls_rnd(GNUTLS_RND_KEY, w->key, sizeof(w->key)) == 0)
			web_refresh(w, error, sizeof(error));
	}
	if (w && w->held && w->crypt && !error[0]) {
		w->first = w->held;
		w->first->users++;
		return w;
	}
	fprintf(stderr, "konfiscator_exporter: --web.config.file: %s\n", error);
	kf_web_close(w);
	return NULL;
}

void kf_web_close(struct kf_web *w)
{
	if (!w)
		return;
	web_put(w->held);
	web_put(w->first);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->crypt_lock);
	pthread_mutex_destroy(&w->guesses.lock);
	if (w->crypt)
		gnutls_memset(w->crypt, 0, sizeof(*w->crypt));
	free(w->crypt);
	free(w);
}

const struct kf_web_config *kf_web_get(struct kf_web *w)
{
	char error[600];
	struct held *h;

	pthread_mutex_lock(&w->lock);
	web_refresh(w, error, sizeof(error));
	h = w->held;
	if (h)
		h->users++;
	pthread_mutex_unlock(&w->lock);
	if (error[0])
		kf_log(KF_LOG_ERROR,
		       "web configuration has an error: refusing all requests",
		       "error", error, NULL);
	return h ? &h->config : NULL;
}

void kf_web_put(struct kf_web *w, const struct kf_web_config *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&w->lock);
	web_put((struct held *)(void *)c);
	pthread_mutex_unlock(&w->lock);
}

static bool web_digest(const struct kf_web *w, const char *user,
		       const char *hash, const char *password,
		       unsigned char out[DIGEST])
{
	gnutls_hmac_hd_t h;

	if (gnutls_hmac_init(&h, GNUTLS_MAC_SHA256, w->key, sizeof(w->key)))
		return false;
	/* with their NULs, so that different triples have different bytes */
	gnutls_hmac(h, user, strlen(user) + 1);
	gnutls_hmac(h, hash, strlen(hash) + 1);
	gnutls_hmac(h, password, strlen(password) + 1);
	gnutls_hmac_deinit(h, out);
	return true;
}

static bool web_is_remembered(struct kf_web *w, const unsigned char d[DIGEST])
{
	unsigned int i, found = 0;

	pthread_mutex_lock(&w->lock);
	for (i = 0; i < KF_MIN(w->nr_remembered, (unsigned int)NR_REMEMBERED);
	     i++)
		found |= gnutls_memcmp(w->remembered[i], d, DIGEST) == 0;
	pthread_mutex_unlock(&w->lock);
	return found;
}

static void web_remember(struct kf_web *w, const unsigned char d[DIGEST])
{
	pthread_mutex_lock(&w->lock);
	memcpy(w->remembered[w->nr_remembered++ % NR_REMEMBERED], d, DIGEST);
	if (w->nr_remembered == 2 * NR_REMEMBERED)
		w->nr_remembered = NR_REMEMBERED;
	pthread_mutex_unlock(&w->lock);
}

static bool web_matches(struct kf_web *w, const char *hash,
			const char *password)
{
	size_t len = strlen(hash);
	const char *got;
	bool equal;

	pthread_mutex_lock(&w->crypt_lock);
	got = crypt_rn(password, hash, w->crypt, (int)sizeof(*w->crypt));
	equal = got && strlen(got) == len && gnutls_memcmp(got, hash, len) == 0;
	pthread_mutex_unlock(&w->crypt_lock);
	return equal;
}

/* The bcrypt cost, a logarithm. */
static unsigned int web_cost_of(const char *hash)
{
	return (unsigned int)(hash[4] - '0') * 10 +
	       (unsigned int)(hash[5] - '0');
}

static unsigned int web_highest_cost(const struct kf_web_config *c)
{
	unsigned int cost = 0, i;

	for (i = 0; i < c->nr_users; i++)
		cost = KF_MAX(cost, web_cost_of(c->user[i].hash));
	return cost;
}

/* A hash that no password matches. */
static void web_make_fake(char fake[64], unsigned int cost)
{
	snprintf(fake, 64, "$2b$%02u$%s", cost,
		 "konfiscatorkonfiscatouxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

/*
 * A wrong password takes as long as the highest cost of all users. For a user
 * with cost a below the highest cost b, dummy hashes of costs a to b - 1 take
 * the difference: 2^a + (2^a + 2^(a+1) + ... + 2^(b-1)) = 2^b.
 */
static bool web_is_right(struct kf_web *w, const struct kf_web_config *c,
			 const char *hash, const char *password)
{
	unsigned int highest = web_highest_cost(c), cost = highest;
	char fake[64];

	if (hash) {
		if (web_matches(w, hash, password))
			return true;
		cost = web_cost_of(hash);
	} else {
		web_make_fake(fake, highest);
		web_matches(w, fake, password);
	}
	for (; cost < highest; cost++) {
		web_make_fake(fake, cost);
		web_matches(w, fake, password);
	}
	return false;
}

enum kf_web_result kf_web_authenticate(struct kf_web *w,
				       const struct kf_web_config *c,
				       const struct kf_peer *peer,
				       const char *user, const char *password)
{
	const char *hash = NULL;
	unsigned char d[DIGEST];
	unsigned int i;

	if (!c->nr_users)
		return KF_WEB_ACCEPTED;
	if (!user || !password)
		return KF_WEB_REFUSED;
	for (i = 0; i < c->nr_users; i++) {
		if (strcmp(user, c->user[i].name) == 0)
			hash = c->user[i].hash;
	}
	if (!web_digest(w, user, hash ? hash : "", password, d))
		return KF_WEB_REFUSED;
	if (web_is_remembered(w, d))
		return KF_WEB_ACCEPTED;
	if (!kf_guess_begin(&w->guesses, peer))
		return KF_WEB_LIMITED;
	if (!web_is_right(w, c, hash, password))
		return KF_WEB_REFUSED;
	kf_guess_was_right(&w->guesses, peer);
	web_remember(w, d);
	return KF_WEB_ACCEPTED;
}
