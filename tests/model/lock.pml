/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lock, its sleepers, and forks that send them away: src/sys/lock.c.
 *
 * Shown: one holder at a time; no wake is lost, so that everybody comes to an
 * end; and nobody waits for a fork, which may therefore take until all others
 * have ended. The word is one number, as it is there: owner, SENT_AWAY,
 * SLEEPERS. A futex sleeps only while the word is the one that it was told.
 *
 * Each PLANT_ is a defect that has to be found; check.sh tries them all.
 */
/* make check-model has LARGE; the tests are content with less. */
#ifdef LARGE
#define THREADS 3
#define ROUNDS 1
#define FORKERS 2
#else
#define THREADS 2
#define ROUNDS 1 /* how often each takes the lock */
#define FORKERS 1
#endif

#define SLEEPERS 1
#define SENT_AWAY 2
#define OWNER 4 /* times the thread's number, from 1 */

byte word;
byte forking;

byte holders; /* only to check */
byte ended;   /* threads that do not fork */
bool asleep[THREADS + FORKERS + 1];

inline try_take(value)
{
	atomic {
		if
		:: word == 0 -> word = value; mine = true
		:: else -> mine = false
		fi
	}
}

/* kf_futex_wake(), of one */
inline wake_one()
{
	atomic {
		if
		:: asleep[1] -> asleep[1] = false
		:: asleep[2] -> asleep[2] = false
		:: asleep[3] -> asleep[3] = false
#if THREADS + FORKERS > 3
		:: asleep[4] -> asleep[4] = false
#endif
#if THREADS + FORKERS > 4
		:: asleep[5] -> asleep[5] = false
#endif
		:: else
		fi
	}
}

inline wake_all()
{
	atomic {
		other = 1;
		do
		:: other > THREADS + FORKERS -> break
		:: else -> asleep[other] = false; other++
		od;
		other = 0
	}
}

/* sleep_on() */
inline sleep_on()
{
	seen = word;
	if
	:: seen == 0 -> goto_sleep = false
	:: seen != 0 && (seen & SLEEPERS) -> goto_sleep = true
	:: seen != 0 && !(seen & SLEEPERS) ->
		atomic {
			if
			:: word == seen ->
				word = seen | SLEEPERS;
				goto_sleep = true
			:: else -> goto_sleep = false
			fi
		}
	fi;
	if
	:: goto_sleep ->
#ifndef PLANT_FORK_NOT_SEEN
		if
		:: forking -> goto_sleep = false
		:: else
		fi
#endif
	:: else
	fi;
	if
	:: goto_sleep ->
		/* kf_futex_wait() */
		atomic {
			if
#ifndef PLANT_SLEEPS_UNSEEN
			:: word != (seen | SLEEPERS)
#endif
			:: word == (seen | SLEEPERS) -> asleep[me] = true
#ifdef PLANT_SLEEPS_UNSEEN
			:: else -> asleep[me] = true
#endif
			fi
		};
		!asleep[me]
	:: else
	fi;
	seen = 0
}

/* take() with wait_for(); one look stands for its spins */
inline take()
{
	sent = false;
	try_take(me * OWNER);
	if
	:: mine
	:: else ->
		do
		:: true ->
#ifdef PLANT_TAKEN_CLEAN
			try_take(me * OWNER);
#else
			try_take(me * OWNER | SLEEPERS);
#endif
			if
			:: mine -> break
			:: else
			fi;
			if
			:: forking -> sent = true; break
			:: else
			fi;
			sleep_on()
		od
	fi
}

/* kf_lock_drop() */
inline drop()
{
	atomic { seen = word; word = 0 };
	if
	:: seen & SLEEPERS -> wake_one()
	:: else
	fi;
	seen = 0
}

/* send_away() */
inline send_away()
{
#ifdef PLANT_WOKEN_TOO_EARLY
	wake_all();
	forking = 1;
	word = word | SENT_AWAY
#else
	forking = 1;
#ifndef PLANT_WORD_NOT_CHANGED
	/* an atomic or: the word changes, so that no futex sleeps on it */
	atomic { word = word | SENT_AWAY };
#endif
	wake_all()
#endif
}

proctype thread(byte me)
{
	byte seen, rounds;
	bool mine, sent, goto_sleep;

	do
	:: rounds == ROUNDS -> break
	:: else ->
		rounds++;
		take();
		if
		:: sent
		:: else ->
			d_step { assert(holders == 0); holders++ };
			holders--;
			drop()
		fi
	od;
	ended++
}

/* kf_lock_fork_prepare(), the fork, and kf_lock_fork_done() in the parent */
proctype forker(byte me)
{
	byte seen, other;
	bool mine, sent, goto_sleep;

	do
	:: true ->
		take();
		if
		:: sent -> sent = false /* kf_thread_yield() */
		:: else -> break
		fi
	od;
	skip;
	d_step { assert(holders == 0); holders++ };
	send_away();
	/* it may take until nobody else is there */
	if
	:: true
	:: true -> ended == THREADS
	fi;
	holders--;
	forking = 0;
	drop()
}

init
{
	byte i;

	atomic {
		for (i : 1 .. THREADS) {
			run thread(i)
		}
		for (i : 1 .. FORKERS) {
			run forker(THREADS + i)
		}
	}
}
