/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An address that guesses passwords has to wait.
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

/* Of one address. */
struct kf_guesser {
	struct kf_peer peer;
	double left;		/* wrong passwords that it has now */
	struct timespec filled; /* when that was so; 0: not in use */
};

struct kf_guesses {
	unsigned int rate; /* in a minute; 0: no limit; constant */
	pthread_mutex_t lock;
	struct kf_guesser guesser[KF_NR_GUESSERS];
};

/**
 * kf_guess_begin() - count a password that may be wrong
 * @g:		the guesses
 * @peer:	who gave it
 *
 * Context: any thread.
 * Return: false where it had too many: the password is not to be looked at.
 */
bool kf_guess_begin(struct kf_guesses *g, const struct kf_peer *peer);

/**
 * kf_guess_was_right() - a password that was counted was none
 * @g:		the guesses
 * @peer:	who gave it
 *
 * Context: any thread.
 */
void kf_guess_was_right(struct kf_guesses *g, const struct kf_peer *peer);

#endif
