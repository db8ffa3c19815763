/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who has which heap: src/heap/arenas.c.
 *
 * Threads begin and end. One that begins takes a heap off the idle stack, or
 * makes one; one that ends leaves its heap there, with blocks that others still
 * have and will free into it. Any of them may scavenge meanwhile, which flushes
 * the heaps that nobody has. How a block is sent is remote.pml's matter, and
 * one step here.
 *
 * Shown: a heap has one user at a time, thread or scavenger; none is lost, all
 * are idle in the end; and after one more scavenge all blocks are home: the
 * notice that an idle heap has mail is never lost.
 *
 * Each PLANT_ is a defect that has to be found; check.sh tries them all.
 */
/* make check-model has LARGE; the tests are content with less. */
#ifdef LARGE
#define THREADS 3
#define LIVES 1
#define MADE 2
#define GIVES 1
#else
#define THREADS 2
#define LIVES 2 /* how often each thread begins */
#define MADE 2 /* heaps that are idle at the begin */
#define GIVES 1 /* blocks that are given, in all */
#endif

#define HEAPS (MADE + THREADS)
#define NONE 0

/* struct kf_heap; heaps count from 1, and each has one block */
byte next_idle[HEAPS + 1];
bool mail[HEAPS + 1];	   /* @inbox, with its block or without */
bool needs_flush[HEAPS + 1];
/* Only to check: who uses it, and whether its block is home. */
byte users[HEAPS + 1];
bool home[HEAPS + 1];

/* arenas */
bool lock;
byte idle;
byte nr;

chan program = [GIVES] of { byte };
byte gives;
byte ended;

inline take_lock()
{
	atomic { !lock -> lock = true }
}

inline use(h)
{
	d_step { assert(users[h] == 0); users[h]++ }
}

inline unuse(h)
{
	users[h]--
}

/* arenas_push(): without the lock */
inline arenas_push(h)
{
	old = idle;
	do
	:: true ->
		next_idle[h] = old;
		atomic {
			if
			:: idle == old -> idle = h; break
			:: else -> old = idle
			fi
		}
	od
}

/* pop(): the caller holds the lock */
inline pop(h)
{
	h = idle;
	do
	:: h == NONE -> break
	:: else ->
		old = next_idle[h];
		atomic {
			if
			:: idle == h -> idle = old; break
			:: else -> h = idle
			fi
		}
	od
}

/* attach(), make(), settle() */
inline attach()
{
#ifndef PLANT_POP_WITHOUT_LOCK
	take_lock();
#endif
	pop(heap);
#ifdef PLANT_POP_WITHOUT_LOCK
	take_lock();
#endif
	if
	:: heap == NONE ->
		nr++;
		heap = nr;
		home[heap] = true
	:: else
	fi;
	lock = false;
	use(heap)
}

/* kf_remote_collect(): an exchange */
inline collect(h)
{
	if
	:: mail[h] ->
		d_step {
			mail[h] = false;
			assert(!home[h]);
			home[h] = true
		}
	:: else
	fi
}

/* leave() */
inline leave()
{
#ifdef PLANT_LEFT_TOO_EARLY
	arenas_push(heap);
	needs_flush[heap] = true;
	unuse(heap)
#else
	needs_flush[heap] = true;
	unuse(heap);
	arenas_push(heap)
#endif
}

/* kf_heap_scavenge() */
inline scavenge()
{
#ifndef PLANT_SCAVENGE_WITHOUT_LOCK
	take_lock();
#endif
	list = NONE;
	do
	:: true ->
		pop(h);
		if
		:: h == NONE -> break
		:: else -> next_idle[h] = list; list = h
		fi
	od;
	do
	:: list == NONE -> break
	:: else ->
		h = list;
		list = next_idle[h];
		if
#ifdef PLANT_MAIL_IGNORED
		:: needs_flush[h] ->
#else
		:: needs_flush[h] || mail[h] ->
#endif
			/* kf_heap_flush() */
			use(h);
			collect(h);
			unuse(h)
		:: else
		fi;
		needs_flush[h] = false;
#ifdef PLANT_NOT_PUSHED_BACK
		if
		:: idle == NONE -> arenas_push(h)
		:: else
		fi
#else
		arenas_push(h)
#endif
	od;
	h = NONE;
	lock = false
}

/* kf_heap_alloc(): the heap's block, if it is home, goes to the program */
inline allocate()
{
	collect(heap);
	atomic {
		if
		:: home[heap] && gives < GIVES ->
			home[heap] = false;
			gives++;
			program ! heap
		:: else
		fi
	}
}

/* kf_heap_free_small(), or release_small() of one whose heap is left already */
inline release()
{
	atomic {
		if
		:: nempty(program) ->
			program ? b;
			if
			:: b == heap -> assert(!home[b]); home[b] = true
			:: else -> assert(!mail[b]); mail[b] = true
			fi;
			b = NONE
		:: empty(program)
		fi
	}
}

proctype thread()
{
	byte heap, h, b, old, list, lives;

	do
	:: lives == LIVES -> break
	:: else ->
		lives++;
		attach();
		if
		:: allocate()
		:: release()
		:: scavenge()
		:: skip
		fi;
		leave();
		heap = NONE
	od;
	/* a destructor after our own: a guest frees, kf_remote_free() */
	release();
	ended++
}

/* What is true when all have ended and somebody scavenges once more. */
proctype last()
{
	byte heap, h, b, old, list, seen;

	ended == THREADS;
	do
	:: nempty(program) -> release()
	:: empty(program) -> break
	od;
	scavenge();
	h = 1;
	do
	:: h > nr -> break
	:: else -> assert(home[h] && !mail[h] && !users[h]); h++
	od;
	h = idle;
	do
	:: h == NONE -> break
	:: else -> seen++; assert(seen <= nr); h = next_idle[h]
	od;
	assert(seen == nr)
}

init
{
	byte i;

	atomic {
		for (i : 1 .. MADE) {
			nr++;
			home[nr] = true;
			next_idle[nr] = idle;
			idle = nr
		}
		for (i : 1 .. THREADS) {
			run thread()
		}
		run last()
	}
}
