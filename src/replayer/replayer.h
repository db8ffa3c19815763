/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files of the replayer share.
 *
 *	main.c		arguments, the script's file, the answer
 *	play.c		the operations
 *	turn.c		the threads, which take turns
 *	gauge.c		memory and time of the process
 *
 * The replayer calls malloc and its relatives for the script alone: its own
 * memory is mapped, shared, so that the kernel makes no huge pages of it: a dry
 * play has as much of it, which is subtracted.
 */
#ifndef KF_REPLAYER_REPLAYER_H
#define KF_REPLAYER_REPLAYER_H

#include "base/compiler.h"
#include "replayer/script.h"

#define KF_PLAY_WINDOW ((size_t)1 << 18)

/* What is played. The thread that has the turn reads and writes all of it. */
struct kf_play {
	struct kf_script_header head;
	const struct kf_script_sample *samples;
	void **blocks; /* by number; NULL: none, the call failed */
	int fd;	       /* the script's */
	int out;       /* the pipe's */
	enum kf_script_touch touch;
	bool dry;	  /* do all but the calls */
	bool paced;	  /* not before the recorded time */
	uint8_t *window;  /* KF_PLAY_WINDOW bytes */
	const uint8_t *p; /* in the window: the next operation */
	const uint8_t *end;
	uint64_t offset; /* in the file, of what follows the window */
	uint64_t op;	 /* operations done */
	uint64_t next;	 /* the operation after which the next sample is */
	uint32_t sample; /* its number */
	uint64_t time_ns;
	uint64_t begin_ns; /* of the play */
	uint64_t failed;
	struct kf_script_end gauge; /* at the begin */
	uint64_t cpu_aside;	    /* ns of the samples */
	uint64_t wall_aside;	    /* ns of the samples and pauses */
};

extern struct kf_play kf_play;

/* Why a thread stops to play. */
enum kf_play_stop { KF_PLAY_TURN, KF_PLAY_END, KF_PLAY_DONE };

/**
 * kf_play_on() - play the operations of the calling thread
 * @next:	out, with KF_PLAY_TURN: the thread that follows
 *
 * Context: the thread that has the turn.
 * Return: why it stopped.
 */
enum kf_play_stop kf_play_on(uint32_t *next);

/**
 * kf_turn_play() - play the whole script
 * @done:	called by the thread that comes to the end; does not return
 *
 * Context: the main thread; does not return.
 */
void kf_turn_play(void (*done)(void)) __attribute__((noreturn));

/**
 * kf_gauge_resident() - the resident memory of the process
 *
 * Return: bytes; ends the process with a message if the kernel does not tell.
 */
uint64_t kf_gauge_resident(void);

/**
 * kf_gauge_read() - read what the process has used so far
 * @g:		out: times and faults
 */
void kf_gauge_read(struct kf_script_end *g);

/**
 * kf_gauge_sample() - write a sample to the pipe
 *
 * Its time is put aside.
 */
void kf_gauge_sample(void);

/**
 * kf_gauge_pause() - wait for the recorded time
 */
void kf_gauge_pause(void);

/**
 * kf_play_map() - map memory of the replayer's own
 * @size:	bytes
 *
 * Return: zeroed memory; ends the process with a message where there is none.
 */
void *kf_play_map(size_t size);

/**
 * kf_play_write() - write to the pipe
 * @data:	what
 * @size:	bytes
 *
 * Ends the process if nobody reads.
 */
void kf_play_write(const void *data, size_t size);

/**
 * kf_play_die() - end the process with a line on stderr
 * @what:	what failed
 * @error:	errno, or 0
 */
void kf_play_die(const char *what, int error) __attribute__((noreturn));

#endif
