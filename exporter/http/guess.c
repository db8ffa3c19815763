/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Wrong passwords by address: see guess.h. If there is no room for another
 * address, it replaces the one that guessed longest ago.
 */
#include "config.h"

#include "exporter/http/guess.h"

static double guess_minutes_since(const struct timespec *then,
				  const struct timespec *now)
{
	return ((double)(now->tv_sec - then->tv_sec) +
		(double)(now->tv_nsec - then->tv_nsec) * 1e-9) /
	       60;
}

static bool guess_is_older(const struct kf_guesser *a,
			   const struct kf_guesser *b)
{
	if (a->filled.tv_sec != b->filled.tv_sec)
		return a->filled.tv_sec < b->filled.tv_sec;
	return a->filled.tv_nsec < b->filled.tv_nsec;
}

/* Find and refill the entry of a client. The caller holds the lock. */
static struct kf_guesser *guess_get(struct kf_guesses *g,
				    const struct kf_peer *peer)
{
	struct kf_guesser *oldest = g->guesser, *found = NULL;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (unsigned int i = 0; i < KF_NR_GUESSERS && !found; i++) {
		struct kf_guesser *at = &g->guesser[i];

		if (at->filled.tv_sec && kf_peer_same(&at->peer, peer))
			found = at;
		if (guess_is_older(at, oldest))
			oldest = at;
	}
	if (!found) {
		found = oldest;
		*found = (struct kf_guesser){.peer = *peer, .left = g->rate};
	} else {
		found->left +=
			guess_minutes_since(&found->filled, &now) * g->rate;
		found->left = KF_MIN(found->left, (double)g->rate);
	}
	found->filled = now;
	return found;
}

bool kf_guess_begin(struct kf_guesses *g, const struct kf_peer *peer)
{
	struct kf_guesser *at;
	bool may;

	if (!g->rate)
		return true;
	pthread_mutex_lock(&g->lock);
	at = guess_get(g, peer);
	may = at->left >= 1;
	at->left -= may;
	pthread_mutex_unlock(&g->lock);
	return may;
}

void kf_guess_was_right(struct kf_guesses *g, const struct kf_peer *peer)
{
	struct kf_guesser *at;

	if (!g->rate)
		return;
	pthread_mutex_lock(&g->lock);
	at = guess_get(g, peer);
	at->left = KF_MIN(at->left + 1, (double)g->rate);
	pthread_mutex_unlock(&g->lock);
}
