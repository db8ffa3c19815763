/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flags of konfiscator_exporter. One table gives getopt's table and --help;
 * a test compares the manual page with it.
 */
#ifndef KF_EXPORTER_CONFIG_OPTIONS_H
#define KF_EXPORTER_CONFIG_OPTIONS_H

#include "base/compiler.h"
#include "exporter/log.h"
#include "exporter/trace/trace.h"

#define KF_MAX_LISTEN 16
#define KF_MAX_DIRS 32
#define KF_MAX_HOSTS 64
#define KF_MAX_COLLECTORS 16

enum kf_sandbox_use { KF_SANDBOX_AUTO, KF_SANDBOX_ON, KF_SANDBOX_OFF };

/* To whom the exporter sends by itself. */
struct kf_receiver {
	const char *url; /* NULL: nothing is sent */
	const char
		*headers_file; /* lines "NAME: VALUE"; read for each request */
	const char *ca_file;   /* authorities; NULL: the system's */
	unsigned int every_s;
};

/* Constant once parsed; strings are the arguments themselves. */
struct kf_options {
	const char *listen[KF_MAX_LISTEN];
	unsigned int nr_listen;
	bool listens; /* @listen was given, not the default */
	bool systemd_socket;
	int socket[KF_MAX_LISTEN]; /* passed by systemd; not a flag */
	unsigned int nr_sockets;
	const char *telemetry_path;
	unsigned int max_requests; /* 0: no limit */
	unsigned int max_rate;	   /* 0: no limit */
	unsigned int max_wrong;	   /* passwords in a minute; 0: no limit */
	unsigned int timeout_s;
	const char *web_config;		/* NULL: none */
	const char *host[KF_MAX_HOSTS]; /* further names of this server */
	unsigned int nr_hosts;
	bool actions; /* pages may send orders to processes */
	bool disable_exporter_metrics;
	bool created;			   /* OpenMetrics has created times */
	const char *dirs[KF_MAX_DIRS + 1]; /* NULL-terminated */
	unsigned int nr_dirs;
	const char *state_file; /* NULL: not given; "": none */
	const char *procfs;
	const char *cgroupfs;
	bool smaps;
	bool containers;
	bool exemplars;
	const char *config; /* NULL: none */
	bool check;	    /* configuration only */
	bool collector[KF_MAX_COLLECTORS];
	unsigned int groups_max;
	unsigned int forget_after_s;
	unsigned int history_every_s;
	unsigned int keep_ended_s; /* 0: delete as soon as they are counted */
	struct kf_trace_conf trace;
	struct kf_receiver otlp;
	bool otlp_profiles;
	struct kf_receiver pyroscope;
	bool injector;
	const char *injector_image; /* NULL: not given */
	enum kf_sandbox_use landlock;
	enum kf_sandbox_use seccomp;
	const char *reads[KF_MAX_DIRS]; /* may be read under Landlock */
	unsigned int nr_reads;
	enum kf_log_level log_level;
	enum kf_log_format log_format;
	bool once;
	const char *textfile; /* NULL: stdout */
};

enum kf_parse { KF_PARSE_RUN, KF_PARSE_DONE, KF_PARSE_USAGE };

/**
 * kf_options_parse() - read the command line
 * @o:		out: the result, defaults filled in
 * @argc:	as main's
 * @argv:	as main's
 *
 * Prints help and version on stdout, and an error, in one line, on stderr.
 *
 * Context: once, before there are threads.
 * Return: KF_PARSE_RUN, KF_PARSE_DONE after help or version, or KF_PARSE_USAGE.
 */
enum kf_parse kf_options_parse(struct kf_options *o, int argc, char **argv);

/* The error if it does, but --sandbox.landlock=on was given. */
#define KF_LANDLOCK_EXCLUDES                                  \
	"--sandbox.landlock=on excludes --stats.containers, " \
	"--resident.smaps and tracers, which look into other processes"

/**
 * kf_options_run_tracers() - whether a tracer is to be run
 * @o:		the flags
 *
 * Return: true if so; the script whose page is read does not run.
 */
bool kf_options_run_tracers(const struct kf_options *o);

/**
 * kf_options_look_into_others() - whether the flags need the right to look into
 * other processes, as ptrace(2) has it
 * @o:		the flags
 *
 * Return: one that does, or NULL.
 */
const char *kf_options_look_into_others(const struct kf_options *o);

#endif
