/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A slab whose owner does nothing, reclaimed by another thread:
 * src/heap/reclaim.c.
 *
 * The owner has one slab, which it carved whole. It gives blocks to the program
 * by its fast path, takes some back by its fast path and refills its bin in its
 * slow path; other threads free the others. Another thread reclaims now and
 * then.
 *
 * Shown, over all interleavings: when the slab goes no block of it is live, in
 * the bin or under way, and the owner touches it no more. The model's memory is
 * sequentially consistent, which membarrier(2) provides between the owner and
 * the thread that reclaims.
 *
 * Each PLANT_ is a defect that has to be found; check.sh tries them all.
 */
#ifdef LARGE
#define BLOCKS 3
#define ROUNDS 3
#define STEPS 9
#else
#define BLOCKS 2
#define ROUNDS 2 /* how often the other thread reclaims */
#define STEPS 6	 /* of the owner */
#endif

/* struct kf_slab */
bool owned = true;
byte used = BLOCKS, carved = BLOCKS;
byte list; /* the local one */
byte remote;
/* struct kf_heap */
byte bin = BLOCKS;
byte busy;
bool held;
bool inbox;
bool lock; /* the arenas lock */

byte mine;   /* blocks that the program has, and the owner will free */
byte others; /* likewise, and another thread will free */
byte away; /* blocks whose remote free has not reached @remote */
bool over;

inline take_lock()
{
	atomic { !lock -> lock = true }
}

/* kf_heap_enter(), kf_heap_wait() */
inline enter()
{
	busy++;
#ifndef PLANT_HELD_IGNORED
	!held
#endif
}

inline gone(by)
{
	atomic {
		assert(owned);
		assert(!mine && !others && !bin && !away);
		owned = false
	}
}

/* kf_slab_emptied() */
inline emptied()
{
	if
	:: owned && used == 0 && remote == 0 -> gone(0)
	:: else
	fi
}

/* kf_remote_collect() */
inline collect()
{
	if
	:: inbox ->
		inbox = false;
		assert(owned);
		atomic { got = remote; remote = 0 };
		list = list + got;
		used = used - got;
		if
		:: got && used == 0 -> emptied()
		:: else
		fi
	:: else
	fi
}

active proctype owner()
{
	byte got, steps;

	do
	:: steps == STEPS -> break
	/* malloc's fast path */
	:: steps < STEPS && bin ->
		atomic { bin--; mine++ };
		steps++
	/* the program hands a block to another thread */
	:: steps < STEPS && mine -> atomic { mine--; others++; steps++ }
	/* free's fast path */
	:: steps < STEPS && mine ->
		steps++;
		assert(owned);
#ifdef PLANT_USED_FIRST
		atomic { mine--; used-- };
		assert(owned);
		list++;
#else
		list++;
		assert(owned);
		atomic { mine--; used-- };
#endif
		if
		:: used == 0 ->
			/* kf_slab_emptied_alone() */
			enter();
			if
#ifdef PLANT_NO_SECOND_LOOK
			:: true -> gone(0)
#else
			:: owned && used == 0 -> gone(0)
#endif
			:: else
			fi;
			busy--
		:: else
		fi
	/* kf_heap_refill(): what the slab has, if it is still there */
	:: steps < STEPS && bin == 0 ->
		steps++;
		enter();
		collect();
		if
		:: owned && list ->
			bin = list;
			assert(owned);
			list = 0;
			used = carved
		:: else
		fi;
		busy--
	od;
	over = true
}

/* outbox_send(), kf_inbox_push() */
active proctype freer()
{
	bool first;

	do
	:: atomic { others -> others--; away++ };
		atomic {
			first = remote == 0;
			remote++;
			away = away - (first -> 0 : 1)
		};
		if
		:: first -> atomic { inbox = true; away-- }
		:: else
		fi
	:: over && !others -> break
	od
}

active proctype reclaimer()
{
	byte rounds;
	bool chosen;

	do
	:: rounds == ROUNDS || !owned -> break
	:: else ->
		rounds++;
		chosen = false;
		take_lock();
		held = true;
		if
#ifndef PLANT_BUSY_IGNORED
		:: busy
#endif
#ifdef PLANT_BUSY_IGNORED
		:: true ->
#else
		:: else ->
#endif
			if
			:: inbox ->
				inbox = false;
				if
#ifdef PLANT_USED_IGNORED
				:: remote -> chosen = true
#else
				:: remote && remote == used -> chosen = true
#endif
				:: else -> inbox = true
				fi
			:: !inbox && owned && used == 0 && !remote ->
				chosen = true
			:: else
			fi;
			if
			:: chosen -> remote = 0; used = 0; gone(1)
			:: else
			fi
		fi;
		held = false;
		lock = false
	od
}
