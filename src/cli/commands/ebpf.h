/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `konfiscator record --ebpf`: a profile of a process that runs without the
 * library, by bpftrace.
 */
#ifndef KF_CLI_COMMANDS_EBPF_H
#define KF_CLI_COMMANDS_EBPF_H

#include "cli/cli.h"

/* What is asked for. */
struct kf_ebpf {
	const char *output; /* NULL: konfiscator.PID.profile */
	uint64_t mean;	    /* distance of samples, bytes */
	double interval;    /* seconds between two snapshots */
	double duration;    /* seconds; 0: until the process ends */
	bool nameless;	    /* names of functions are not stored */
};

/**
 * kf_ebpf_record() - record the one process that is selected
 * @cli:	the command line
 * @how:	what is asked for
 *
 * Return: the exit status, after a message where it is not 0.
 */
int kf_ebpf_record(const struct kf_cli *cli, const struct kf_ebpf *how);

#endif
