/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A limit on wrong passwords for each client address.
 *
 * Promises: an address has so many wrong passwords in a minute, counted when
 * they are tried, so that it has no more of them worked out at a time either;
 * what others have is not less for it. The addresses that guessed last are
 * remembered, a bounded number.
 */
#ifndef KF_EXPORTER_HTTP_GUESS_H
#define KF_EXPORTER_HTTP_GUESS_H

#include "exporter/http/peer.h"

#include <pthread.h>
#include <time.h>

#define KF_NR_GUESSERS 1024

/* The limit of an address. */
struct kf_guesser {
	struct kf_peer peer;
	double left;		/* wrong passwords still allowed at @filled */
	struct timespec filled; /* CLOCK_MONOTONIC; 0: not in use */
};

struct kf_guesses {
	unsigned int rate; /* in a minute; 0: no limit; constant */
	pthread_mutex_t lock;
	struct kf_guesser guesser[KF_NR_GUESSERS];
};

/**
 * kf_guess_begin() - count a password before it is checked
 * @g:		the limits
 * @peer:	the client
 *
 * Return: false if the client has no guess left; then do not check the
 * password.
 */
bool kf_guess_begin(struct kf_guesses *g, const struct kf_peer *peer);

/**
 * kf_guess_was_right() - uncount a password that was right
 * @g:		the limits
 * @peer:	the client
 */
void kf_guess_was_right(struct kf_guesses *g, const struct kf_peer *peer);

#endif
