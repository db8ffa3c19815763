/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Flags: see flags.h. Defaults are text, parsed like arguments.
 */
#include "config.h"

#include "exporter/config/flags.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* room for a path, and for one that names are added to */
#define LONG_PATH 4000
#define SHORT_PATH 2000

#define OPTION_ON(field) offsetof(struct kf_options, field)

static const char *set_listen(struct kf_options *o, const char *value)
{
	const char *port = strrchr(value, ':');
	bool is_unix = strncmp(value, "unix:", 5) == 0 && value[5];

	/* a larger number would be truncated to 16 bits; 0 is any port */
	if (!is_unix && (!port || !port[1] ||
			 (isdigit((unsigned char)port[1]) &&
			  (port[1 + strspn(port + 1, "0123456789")] ||
			   strtoul(port + 1, NULL, 10) > UINT16_MAX))))
		return "[HOST]:PORT, with a port of 0 to 65535, or unix:PATH";
	if (o->nr_listen == KF_MAX_LISTEN)
		return "at most 16 addresses";
	o->listen[o->nr_listen++] = value;
	return NULL;
}

static const char *option_set_path(struct kf_options *o, const char *value)
{
	const char *p;

	for (p = value; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("/-_.~", *p))
			break;
	}
	if (*p || value[0] != '/' || !value[1])
		return "/ and a path of letters, digits and /-_.~";
	o->telemetry_path = value;
	return NULL;
}

static bool option_number(const char *value, unsigned long max,
			  unsigned int *out)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*value) || n > max)
		return false;
	*out = (unsigned int)n;
	return true;
}

/* Parse a time with its unit, in seconds, above 0. */
static bool option_seconds(const char *value, unsigned int *out)
{
	static const struct {
		char unit;
		unsigned int seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	size_t len = strlen(value), i;
	char digits[16];
	unsigned int n;

	for (i = 0; len > 1 && len < sizeof(digits) && i < 4; i++) {
		if (value[len - 1] != units[i].unit)
			continue;
		memcpy(digits, value, len - 1);
		digits[len - 1] = '\0';
		if (!option_number(digits, 36500000 / units[i].seconds, &n) ||
		    !n)
			return false;
		*out = n * units[i].seconds;
		return true;
	}
	return false;
}

static const char *set_max_requests(struct kf_options *o, const char *value)
{
	return option_number(value, 10000, &o->max_requests)
		       ? NULL
		       : "0 (no limit) to 10000";
}

static const char *set_max_rate(struct kf_options *o, const char *value)
{
	return option_number(value, 1000000, &o->max_rate)
		       ? NULL
		       : "0 (no limit) to 1000000";
}

static const char *set_max_wrong(struct kf_options *o, const char *value)
{
	return option_number(value, 1000000, &o->max_wrong)
		       ? NULL
		       : "0 (no limit) to 1000000";
}

static const char *set_timeout(struct kf_options *o, const char *value)
{
	if (!option_seconds(value, &o->timeout_s) || o->timeout_s > 86400)
		return "a time up to 1d: a number over 0 with unit s, m, h or d";
	return NULL;
}

static const char *option_path(const char *value, size_t size, const char **out)
{
	*out = value;
	if (*value && strlen(value) < size)
		return NULL;
	return size == SHORT_PATH ? "a path of 1 to 1999 bytes"
				  : "a path of 1 to 3999 bytes";
}

static const char *set_web_config(struct kf_options *o, const char *value)
{
	return option_path(value, LONG_PATH, &o->web_config);
}

/* A star is allowed only at the beginning, and stands for whole labels. */
static const char *set_host(struct kf_options *o, const char *value)
{
	const char *name = value[0] == '*' ? value + 1 : value;

	if (!*value || strlen(value) > 253 || strpbrk(name, "*:/ ") ||
	    (name > value && *name && *name != '.'))
		return "a host name without a port, *.DOMAIN, or * for all";
	if (o->nr_hosts == KF_MAX_HOSTS)
		return "at most 64 names";
	o->host[o->nr_hosts++] = value;
	return NULL;
}

static const char *option_set_dir(struct kf_options *o, const char *value)
{
	if (!*value)
		return "the name of a directory";
	if (o->nr_dirs == KF_MAX_DIRS)
		return "at most 32 directories";
	o->dirs[o->nr_dirs++] = value;
	return NULL;
}

static const char *set_state(struct kf_options *o, const char *value)
{
	o->state_file = value;
	return strlen(value) < LONG_PATH ? NULL
					 : "a file name of at most 3999 bytes";
}

static const char *set_procfs(struct kf_options *o, const char *value)
{
	return option_path(value, LONG_PATH, &o->procfs);
}

static const char *set_cgroupfs(struct kf_options *o, const char *value)
{
	return option_path(value, SHORT_PATH, &o->cgroupfs);
}

static const char *set_config(struct kf_options *o, const char *value)
{
	return option_path(value, LONG_PATH, &o->config);
}

static const char *set_groups_max(struct kf_options *o, const char *value)
{
	if (option_number(value, 100000, &o->groups_max) && o->groups_max)
		return NULL;
	return "1 to 100000";
}

static const char *set_forget(struct kf_options *o, const char *value)
{
	return option_seconds(value, &o->forget_after_s)
		       ? NULL
		       : "a number over 0 with unit s, m, h or d";
}

static const char *set_history(struct kf_options *o, const char *value)
{
	return option_seconds(value, &o->history_every_s)
		       ? NULL
		       : "a number over 0 with unit s, m, h or d";
}

static const char *set_keep(struct kf_options *o, const char *value)
{
	if (strcmp(value, "0") == 0)
		o->keep_ended_s = 0;
	else if (!option_seconds(value, &o->keep_ended_s))
		return "0, or a number over 0 with unit s, m, h or d";
	return NULL;
}

static int option_choose(const char *value, const char *const *names, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (strcmp(value, names[i]) == 0)
			return i;
	}
	return -1;
}

static const char *set_trace(struct kf_options *o, const char *value)
{
	const char *name = kf_trace_known(value);
	unsigned int i;

	if (!name)
		return "konfiscator, sizes, latency, mmap, frag or prometheus";
	for (i = 0; i < o->trace.nr; i++) {
		if (o->trace.name[i] == name)
			return "each script only once";
	}
	o->trace.name[o->trace.nr++] = name;
	return NULL;
}

static const char *set_trace_scripts(struct kf_options *o, const char *value)
{
	return option_path(value, SHORT_PATH, &o->trace.scripts);
}

static const char *set_trace_library(struct kf_options *o, const char *value)
{
	o->trace.library = value;
	return *value == '/' && strlen(value) < SHORT_PATH
		       ? NULL
		       : "an absolute path of at most 1999 bytes";
}

static const char *set_trace_page(struct kf_options *o, const char *value)
{
	return option_path(value, LONG_PATH, &o->trace.page);
}

static const char *set_trace_every(struct kf_options *o, const char *value)
{
	if (!option_seconds(value, &o->trace.every_s))
		return "a number over 0 with unit s, m, h or d";
	return NULL;
}

static const char *set_level(struct kf_options *o, const char *value)
{
	int i = option_choose(value, kf_log_level_names, KF_NR_LOG_LEVELS);

	if (i < 0)
		return "debug, info, warn or error";
	o->log_level = (enum kf_log_level)i;
	return NULL;
}

static const char *set_format(struct kf_options *o, const char *value)
{
	int i = option_choose(value, kf_log_format_names, KF_NR_LOG_FORMATS);

	if (i < 0)
		return "logfmt or json";
	o->log_format = (enum kf_log_format)i;
	return NULL;
}

static const char *set_textfile(struct kf_options *o, const char *value)
{
	o->once = true;
	return option_path(value, LONG_PATH, &o->textfile);
}

static bool option_is_url(const char *value)
{
	CURLU *url = curl_url();
	bool is =
		url && curl_url_set(url, CURLUPART_URL, value, 0) == CURLUE_OK;

	curl_url_cleanup(url);
	return is;
}

static const char *option_set_receiver(const char *value, const char **url,
				       const char *allowed)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (unsigned int i = 0; i < KF_ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i]);

		if (strncmp(value, schemes[i], len) != 0 || !value[len] ||
		    strpbrk(value, "?# \r\n") || !option_is_url(value))
			continue;
		*url = value;
		return NULL;
	}
	return allowed;
}

static const char *option_set_every(const char *value, unsigned int *every_s)
{
	return option_seconds(value, every_s) && *every_s <= 86400
		       ? NULL
		       : "a time of 1s to 1d";
}

static const char *set_otlp_endpoint(struct kf_options *o, const char *value)
{
	return option_set_receiver(value, &o->otlp.url,
				   "a URL such as http://localhost:4318");
}

static const char *set_otlp_interval(struct kf_options *o, const char *value)
{
	return option_set_every(value, &o->otlp.every_s);
}

static const char *set_otlp_headers(struct kf_options *o, const char *value)
{
	return option_path(value, LONG_PATH, &o->otlp.headers_file);
}

static const char *set_otlp_ca(struct kf_options *o, const char *value)
{
	return option_path(value, LONG_PATH, &o->otlp.ca_file);
}

static const char *set_pyroscope_endpoint(struct kf_options *o,
					  const char *value)
{
	return option_set_receiver(value, &o->pyroscope.url,
				   "a URL such as http://localhost:4040");
}

static const char *set_pyroscope_interval(struct kf_options *o,
					  const char *value)
{
	return option_set_every(value, &o->pyroscope.every_s);
}

static const char *set_pyroscope_headers(struct kf_options *o,
					 const char *value)
{
	return option_path(value, LONG_PATH, &o->pyroscope.headers_file);
}

static const char *set_pyroscope_ca(struct kf_options *o, const char *value)
{
	return option_path(value, LONG_PATH, &o->pyroscope.ca_file);
}

/* The name of an image, with a tag or a digest. */
static const char *set_injector_image(struct kf_options *o, const char *value)
{
	const char *p;

	for (p = value; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("/-_.:@", *p))
			break;
	}
	o->injector_image = value;
	return *p || p == value || p - value > 512
		       ? "the name of an image, such as registry.example/konfiscator:0.1.0"
		       : NULL;
}

static const char *option_set_use(const char *value, enum kf_sandbox_use *use)
{
	static const char *const names[] = {"auto", "on", "off"};
	int i = option_choose(value, names, KF_ARRAY_SIZE(names));

	if (i < 0)
		return "auto, on or off";
	*use = (enum kf_sandbox_use)i;
	return NULL;
}

static const char *set_landlock(struct kf_options *o, const char *value)
{
	return option_set_use(value, &o->landlock);
}

static const char *set_seccomp(struct kf_options *o, const char *value)
{
	return option_set_use(value, &o->seccomp);
}

static const char *set_sandbox_read(struct kf_options *o, const char *value)
{
	if (*value != '/')
		return "the absolute path of a directory or file";
	if (o->nr_reads == KF_MAX_DIRS)
		return "at most 32 directories";
	o->reads[o->nr_reads++] = value;
	return NULL;
}

const struct kf_flag kf_flags[KF_NR_FLAGS] = {
	{"web.listen-address", "[HOST]:PORT|unix:PATH", ":10170",
	 "address to listen on; may be repeated", set_listen},
	{"web.systemd-socket", NULL, NULL,
	 "fail if systemd passes no socket; without this flag, passed sockets are used if there are any",
	 NULL, OPTION_ON(systemd_socket)},
	{"web.telemetry-path", "PATH", "/metrics", "path of the metrics",
	 option_set_path},
	{"web.max-requests", "N", "40",
	 "limit of simultaneous scrapes, others get 503; 0: no limit",
	 set_max_requests},
	{"web.max-rate", "N", "0",
	 "limit of requests per second, others get 429; 0: no limit",
	 set_max_rate},
	{"web.max-wrong-passwords", "N", "10",
	 "limit of wrong passwords per minute and address, others get 429; 0: no limit",
	 set_max_wrong},
	{"web.timeout", "TIME", "30s",
	 "limit for a client to send a request, and to receive the response",
	 set_timeout},
	{"web.config.file", "FILE", NULL,
	 "configuration file for TLS, users and headers, in the format of exporter-toolkit",
	 set_web_config},
	{"web.allowed-hosts", "NAME", NULL,
	 "name by which browsers may reach this exporter: a host name, *.DOMAIN or *; may be repeated",
	 set_host},
	{"web.enable-actions", NULL, NULL,
	 "let the pages switch the sampling of processes on and off; on addresses other than loopback only with users or client certificates",
	 NULL, OPTION_ON(actions)},
	{"web.disable-exporter-metrics", NULL, NULL,
	 "leave out the metrics of the exporter itself", NULL,
	 OPTION_ON(disable_exporter_metrics)},
	{"openmetrics.created", NULL, NULL,
	 "add a series NAME_created to counters and histograms in OpenMetrics",
	 NULL, OPTION_ON(created)},
	{"stats.dir", "DIR", NULL,
	 "directory of stats files; may be repeated; default: the library's directories",
	 option_set_dir},
	{"stats.state-file", "FILE", NULL,
	 "file for the counters of ended processes; empty: none; default: /var/lib/konfiscator/state if that can be written",
	 set_state},
	{"stats.keep-ended", "TIME", "24h",
	 "how long stats files of ended processes are kept, at most 256 of each user in each directory; 0: until they are counted",
	 set_keep},
	{"stats.containers", NULL, NULL,
	 "also find stats files in containers without a shared volume", NULL,
	 OPTION_ON(containers)},
	{"stats.exemplars", NULL, NULL,
	 "add exemplars to allocation sizes: sampled blocks with the ids of their stacks",
	 NULL, OPTION_ON(exemplars)},
	{"history.every", "TIME", "10s",
	 "how often the stats files are read for the history of the pages; less often if that takes over 1 % of a processor",
	 set_history},
	{"path.procfs", "DIR", "/proc", "mount point of procfs", set_procfs},
	{"path.cgroupfs", "DIR", "/sys/fs/cgroup",
	 "mount point of the cgroup file system", set_cgroupfs},
	{"resident.smaps", NULL, NULL,
	 "read smaps_rollup of each process too, for proportional shares (PSS) and swap",
	 NULL, OPTION_ON(smaps)},
	{"config.file", "FILE", NULL,
	 "configuration file: rules for group names (process_names), tracers to run (trace)",
	 set_config},
	{"check-config", NULL, NULL,
	 "check the configuration files, report errors, and exit", NULL,
	 OPTION_ON(check)},
	{"groups.max", "N", "500",
	 "limit of groups; further processes are in group \"other\"",
	 set_groups_max},
	{"groups.forget-after", "TIME", "1h",
	 "how long a group without processes is kept", set_forget},
	{"trace", "NAME", NULL,
	 "run bpftrace with script NAME (konfiscator, sizes, latency, mmap, frag) for metrics, or read the page of SystemTap's script prometheus; may be repeated",
	 set_trace},
	{"trace.scripts", "DIR", NULL,
	 "directory of the scripts; default: where they were installed",
	 set_trace_scripts},
	{"trace.library", "FILE", NULL,
	 "the library whose probes are traced; default: the installed one",
	 set_trace_library},
	{"trace.page", "FILE", "/proc/systemtap/konfiscator/__prometheus",
	 "page that --trace=prometheus reads", set_trace_page},
	{"trace.every", "TIME", "5s", "how often the sums of a tracer are read",
	 set_trace_every},
	{"otlp.endpoint", "URL", NULL,
	 "also send metrics to this receiver of OTLP over HTTP",
	 set_otlp_endpoint},
	{"otlp.interval", "TIME", "60s", "how often metrics are sent",
	 set_otlp_interval},
	{"otlp.profiles", NULL, NULL,
	 "send a heap profile of each group, too (v1development)", NULL,
	 OPTION_ON(otlp_profiles)},
	{"otlp.headers-file", "FILE", NULL,
	 "file with a header NAME: VALUE on each line, such as a token; read for each request",
	 set_otlp_headers},
	{"otlp.ca-file", "FILE", NULL,
	 "certificate authorities of the receiver; default: the system's",
	 set_otlp_ca},
	{"pyroscope.endpoint", "URL", NULL,
	 "send a heap profile of each group to Pyroscope, or to another receiver of its push API",
	 set_pyroscope_endpoint},
	{"pyroscope.interval", "TIME", "60s", "how often profiles are sent",
	 set_pyroscope_interval},
	{"pyroscope.headers-file", "FILE", NULL,
	 "file with a header NAME: VALUE on each line, such as a tenant or a token; read for each request",
	 set_pyroscope_headers},
	{"pyroscope.ca-file", "FILE", NULL,
	 "certificate authorities of Pyroscope; default: the system's",
	 set_pyroscope_ca},
	{"injector", NULL, NULL,
	 "also serve /inject, which adds the library to pods of Kubernetes",
	 NULL, OPTION_ON(injector)},
	{"injector.image", "IMAGE", NULL,
	 "image from which pods copy the library; needed by --injector",
	 set_injector_image},
	{"sandbox.landlock", "WHEN", "auto",
	 "limit by Landlock which files and ports are used: auto (unless the exporter may look into other processes), on or off",
	 set_landlock},
	{"sandbox.read", "DIR", NULL,
	 "directory with programs whose functions get names, beside the system's, if Landlock is on; may be repeated",
	 set_sandbox_read},
	{"sandbox.seccomp", "WHEN", "auto",
	 "refuse system calls that the exporter never makes: auto (if the kernel can), on or off",
	 set_seccomp},
	{"log.level", "LEVEL", "info", "debug, info, warn or error", set_level},
	{"log.format", "FORMAT", "logfmt", "logfmt or json", set_format},
	{"once", NULL, NULL,
	 "print one scrape on stdout and exit; delete and save nothing", NULL,
	 OPTION_ON(once)},
	{"once.textfile", "FILE", NULL,
	 "as --once, to a file that is replaced atomically", set_textfile},
};
