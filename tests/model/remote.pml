/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that other threads free, on their way home: src/heap/remote.c.
 *
 * One owner gives out blocks of two slabs; each is freed by some other thread,
 * which keeps it, hands it out again itself, or gathers it in an outbox and
 * sends it to its slab. A thread that finds no such block there puts the slab in
 * the owner's inbox. Two threads write the inbox and the words of the slabs.
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
#define BLOCKS 3
#define FREERS 2
#define GIVES 3 /* how often a block is given to the program, in all */
#endif

#define SLABS 2
#define NONE 0
#define PROGRAM 255 /* what the program writes into a block's first word */

#define slab_of(b) ((b) % SLABS + 1)
#define word_of(first, nr) ((first) * 8 + (nr))

mtype = { home, given_out, kept, posted, sent };

/* Blocks and slabs count from 1. The first words, which lists lead through. */
byte next[BLOCKS + 1];
/* Where each is: not in the code, only to check it. */
mtype place[BLOCKS + 1];

byte remote[SLABS + 1]; /* struct kf_run, of a slab: first block and number */
byte queued[SLABS + 1]; /* likewise, the next slab in the inbox */
byte inbox;		/* struct kf_heap, of the owner */
bool is_queued[SLABS + 1]; /* not in the code, only to check it */
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

/* kf_inbox_push() */
inline inbox_push(s)
{
	old = inbox;
	do
	:: true ->
		queued[s] = old;
		/* a weak compare and swap may fail for no reason */
		atomic {
			if
			:: inbox == old ->
				inbox = s;
				assert(!is_queued[s]);
				is_queued[s] = true;
				break
			:: true -> old = inbox
			fi
		}
	od
}

/* outbox_send() */
inline outbox_send()
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
		old = remote[slab];
		do
		:: true ->
#ifndef PLANT_LINKED_LATE
			next[last] = old / 8;
#endif
#ifdef PLANT_PLAIN_STORE
			remote[slab] = word_of(first, old % 8 + nr);
			break
#else
			atomic {
				if
				:: remote[slab] == old ->
					remote[slab] = word_of(first,
							       old % 8 + nr);
					swapped = true
				:: true ->
#ifndef PLANT_STALE_LINK
					old = remote[slab];
#endif
					swapped = false
				fi
			};
#ifdef PLANT_STALE_LINK
			/* links once, and compares with what it finds later */
			if
			:: swapped -> break
			:: else -> atomic {
				remote[slab] = word_of(first, old % 8 + nr);
				break }
			fi
#endif
			if
			:: swapped ->
#ifdef PLANT_LINKED_LATE
				next[last] = old / 8;
#endif
				break
			:: else
			fi
#endif
		od;
		first = NONE;
		if
#ifdef PLANT_QUEUED_TWICE
		:: true -> inbox_push(slab)
#else
		:: old == 0 -> inbox_push(slab)
		:: else
#endif
		fi
	:: else
	fi
}

/* outbox_add() */
inline post(b)
{
	if
	:: first != NONE && slab != slab_of(b) -> held = b; outbox_send();
		b = held
	:: else
	fi;
	d_step {
		place[b] = posted;
		if
		:: first == NONE -> last = b; nr = 0; slab = slab_of(b)
		:: else
		fi;
		next[b] = first;
		first = b;
		nr++
	}
}

/* A thread that frees blocks of the owner's: remote_take(). */
proctype freer()
{
	byte b, old, first, last, foreign, slab, nr, held;
	bool swapped;

	do
	:: program ? b ->
		assert(place[b] == given_out);
		if
		/* keep(): a list of foreign blocks, here of one */
		:: foreign == NONE -> place[b] = kept; foreign = b
		/* post(), and now and then overdrawn() or change_box() */
		:: true -> post(b)
		:: true -> post(b); outbox_send()
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
	:: foreign != NONE -> b = foreign; post(b); foreign = NONE
	:: else
	fi;
#ifndef PLANT_FULL_OUTBOX
	outbox_send();
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
		slab = inbox;
		inbox = NONE;
#else
		atomic { slab = inbox; inbox = NONE };
#endif
		do
		:: slab == NONE -> break
		:: else ->
#ifndef PLANT_QUEUE_READ_LATE
			after_slab = queued[slab];
#endif
			atomic {
				is_queued[slab] = false;
				block = remote[slab] / 8;
				left = remote[slab] % 8;
				remote[slab] = 0
			};
			do
			:: left == 0 -> break
			:: else ->
				follow(block, after);
				assert(place[block] == sent);
				assert(slab_of(block) == slab);
				d_step {
					place[block] = home;
					next[block] = own;
					own = block;
					left--
				};
				block = after
			od;
#ifdef PLANT_QUEUE_READ_LATE
			after_slab = queued[slab];
#endif
			slab = after_slab
		od
	fi;
	skip
}

/* The thread that allocates: kf_heap_alloc() */
proctype owner()
{
	byte block, after, own, slab, after_slab, left;

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
	:: collect()
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
