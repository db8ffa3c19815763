/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Follows the children of a program for a profile: finds the stats files of its
 * family, and appends what they have as parts of the profile. They are known by
 * the number that KONFISCATOR_FAMILY or an order gave to their ancestor, so it
 * does not matter who their parent is now.
 *
 * A process without the library has no file: one whose environment was cleared,
 * a static or set-id program.
 */
#ifndef KF_CLI_PROFILE_FOLLOW_H
#define KF_CLI_PROFILE_FOLLOW_H

#include "cli/profile/make.h"

struct kf_follower {
	const char *const *dirs; /* of stats files; NULL: the usual ones */
	/* also in the directories that these have made theirs in */
	const int32_t *pids;
	unsigned int nr_pids;
	uint32_t family;
	/* only files of the owner of the first one; else the number is secret
	 */
	bool owned;
	uint32_t owner;
	const char *first;   /* stats file of the first process; none else */
	struct kf_maker *to; /* the profile */
	bool names;	     /* append names of functions too */

	/* Private. */
	struct kf_map known; /* by name */
	size_t nr;
	struct kf_followed *all;
	uint64_t time_ns; /* of this look */
	bool whole;
};

/**
 * kf_family_new() - a number for a new family
 *
 * Return: a random number, not 0, which others cannot guess.
 */
uint32_t kf_family_new(void);

/*
 * A number that the user of a process can see for long: it has the pid of the
 * process that all others descend from in its lower bits.
 */
#define KF_FAMILY_PID_BITS 22

/**
 * kf_family_is_led() - whether all others of a family descend from a process
 * @family:	the number
 * @pid:	the process, in its own pid namespace
 *
 * Return: true if the number says so.
 */
static inline bool kf_family_is_led(uint32_t family, int32_t pid)
{
	return family &&
	       (family & ((1u << KF_FAMILY_PID_BITS) - 1)) == (uint32_t)pid;
}

/**
 * kf_family_led() - a number for the descendants of a process
 * @pid:	the process
 *
 * Return: the number, not 0.
 */
uint32_t kf_family_led(int32_t pid);

/**
 * kf_follow_look() - append what the other processes of the family have
 * @w:		the follower; public members are filled in, the others 0 before
 *		the first look
 * @time_ns:	since the begin of the profile
 * @whole:	of all; false: only of those that are new or have ended
 *
 * Return: 0, or the exit status after a message.
 */
int kf_follow_look(struct kf_follower *w, uint64_t time_ns, bool whole);

/**
 * kf_follow_running() - how many of the other processes had not ended
 * @w:		the follower
 *
 * Return: their number at the last look.
 */
size_t kf_follow_running(const struct kf_follower *w);

/**
 * kf_follow_release() - free what a follower holds
 * @w:		the follower
 */
void kf_follow_release(struct kf_follower *w);

#endif
