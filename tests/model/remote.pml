/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that other threads free, on their way home: src/heap/remote.c.
 *
 * One owner gives out blocks; each is freed by some other thread, which keeps
 * it, hands it out again itself, or gathers it in its outbox and sends it. The
 * inbox is the only word that two threads write.
 *
 * Shown, over all interleavings of single memory accesses: a block is in one
 * place at a time, so none is given twice; no list leads through a word that
 * belongs to the program; and when all threads have ended and the owner has
 * collected, all blocks are home, so none is lost. The model's memory is
 * sequentially consistent: it says nothing of acquire and release.
 *
 * Each PLANT_ is a defect that has to be found; check.sh tries them all.
 */
/* make check-model has LARGE; the tests are content with less. */
#ifdef LARGE
#define BLOCKS 3
#define FREERS 3
#define GIVES 4
#else
#define BLOCKS 2
#define FREERS 2
#define GIVES 3 /* how often a block is given to the program, in all */
#endif

#define NONE 0
#define PROGRAM 255 /* what the program writes into a block's first word */

mtype = { home, given_out, kept, posted, sent };

/* Blocks count from 1. The first words, which lists lead through. */
byte next[BLOCKS + 1];
/* Where each is: not in the code, only to check it. */
mtype place[BLOCKS + 1];

byte inbox;		 /* struct kf_heap, of the owner */
chan program = [BLOCKS] of { byte };
byte gives;
byte ended;
bool closed;

inline follow(block, to)
{
	to = next[block];
	assert(to <= BLOCKS)
}

inline give_to_program(b)
{
	d_step {
		place[b] = given_out;
		next[b] = PROGRAM;
		gives++;
		program ! b
	}
}

/* remote_send() */
inline send(first, last)
{
	old = inbox;
	do
	:: true ->
#ifdef PLANT_LINKED_LATE
		skip;
#else
		next[last] = old;
#endif
#ifdef PLANT_PLAIN_STORE
		inbox = first;
		break
#else
		/* a weak compare and swap may fail for no reason */
		atomic {
			if
			:: inbox == old ->
				inbox = first;
				swapped = true
			:: true ->
#ifndef PLANT_STALE_LINK
				old = inbox;
#endif
				swapped = false
			fi
		};
#ifdef PLANT_STALE_LINK
		/* links once, and compares with what it finds later */
		if
		:: swapped -> break
		:: else -> atomic { inbox = first; break }
		fi
#endif
		if
		:: swapped ->
#ifdef PLANT_LINKED_LATE
			next[last] = old;
#endif
			break
		:: else
		fi
#endif
	od
}

/* remote_send_outbox() */
inline remote_send_outbox()
{
	if
	:: first != NONE ->
		atomic {
			b = first;
			do
			:: b == last -> place[b] = sent; break
			:: b != last -> place[b] = sent; b = next[b]
			od
		};
		send(first, last);
		first = NONE
	:: else
	fi
}

/* remote_queue() */
inline post(b)
{
	d_step {
		place[b] = posted;
		if
		:: first == NONE -> last = b
		:: else
		fi;
		next[b] = first;
		first = b
	}
}

/* A thread that frees blocks of the owner's: remote_take(). */
proctype freer()
{
	byte b, old, first, last, foreign;
	bool swapped;

	do
	:: program ? b ->
		assert(place[b] == given_out);
		if
		/* keep(): a list of foreign blocks, here of one */
		:: foreign == NONE -> place[b] = kept; foreign = b
		/* remote_queue(), and remote_end_reuse() at times */
		:: post(b)
		:: post(b); remote_send_outbox()
		fi
	/* kf_cache_take(), and the block is handed out again */
	:: foreign != NONE && gives < GIVES ->
		atomic {
			if
			:: gives < GIVES ->
				assert(place[foreign] == kept);
				give_to_program(foreign);
#ifndef PLANT_STILL_FOREIGN
				foreign = NONE
#endif
			:: else
			fi
		}
	:: closed && empty(program) -> break
	od;
	/* leave(): kf_remote_send_all() */
	if
	:: foreign != NONE -> post(foreign); foreign = NONE
	:: else
	fi;
#ifndef PLANT_FULL_OUTBOX
	remote_send_outbox();
#endif
	ended++
}

/* kf_remote_collect() */
inline collect()
{
	if
	:: inbox == NONE
	:: else ->
#ifdef PLANT_LOAD_AND_CLEAR
		block = inbox;
		inbox = NONE;
#else
		atomic { block = inbox; inbox = NONE };
#endif
		do
		:: block == NONE -> break
		:: else ->
			follow(block, after);
			/* kf_slab_return() */
			assert(place[block] == sent);
			d_step {
				place[block] = home;
				next[block] = own;
				own = block
			};
			block = after
		od
	fi;
	skip
}

/* The thread that allocates: kf_heap_alloc() */
proctype owner()
{
	byte block, after, own;

	d_step {
		block = BLOCKS;
		do
		:: block == NONE -> break
		:: else ->
			place[block] = home;
			next[block] = own;
			own = block;
			block--
		od
	};
	do
	:: gives < GIVES ->
		collect();
		atomic {
			if
			:: own != NONE && gives < GIVES ->
				block = own;
				assert(place[block] == home);
				follow(block, own);
				give_to_program(block)
			:: else
			fi
		}
	:: closed = true; break
	od;
	ended == FREERS && empty(program);
	collect();
	d_step {
		block = 1;
		do
		:: block > BLOCKS -> break
		:: else ->
			/* or it is lost */
			assert(place[block] == home);
			block++
		od
	}
}

init
{
	byte i;

	atomic {
		run owner();
		for (i : 1 .. FREERS) {
			run freer()
		}
	}
}
