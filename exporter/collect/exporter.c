/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "exporter": the build, results of scans, and the exporter's own
 * process.
 */
#include "config.h"

#include "exporter/collect/collector.h"
#include "exporter/collect/durations.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void exporter_add_gauge(struct kf_page *page, const char *name,
			       const char *unit, const char *help, double value)
{
	kf_family_double(
		page, kf_page_family(page, name, KF_METRIC_GAUGE, unit, help),
		"", value);
}

static void exporter_add_build(struct kf_page *page)
{
	const struct kf_label label[] = {{"version", PACKAGE_VERSION}};

	kf_family_int(page,
		      kf_page_family(page, "konfiscator_exporter_build_info",
				     KF_METRIC_GAUGE, "",
				     "always 1, labelled by version"),
		      kf_page_labels(page, label, KF_ARRAY_SIZE(label)), 1);
}

static void exporter_add_scrapes(struct kf_scrape *scrape)
{
	struct kf_page *page = &scrape->page;
	struct kf_series *s = kf_durations_show(
		scrape->sources->scrapes, page,
		kf_page_family(
			page, "konfiscator_exporter_scrape_duration_seconds",
			KF_METRIC_HISTOGRAM, "seconds",
			"time to collect and to format each scrape before this one"));

	kf_series_created(s, scrape->sources->started_ns);
}

static bool exporter_add_files(struct kf_scrape *scrape)
{
	struct kf_groups *g = scrape->sources->groups;
	struct kf_page *page = &scrape->page;
	struct kf_label label = {"result", NULL};
	unsigned int i;

	if (pthread_mutex_clocklock(&g->lock, CLOCK_MONOTONIC,
				    &scrape->deadline) != 0)
		return false;
	for (i = 0; i < KF_NR_READ_RESULTS; i++) {
		label.value = kf_read_result_name((enum kf_read_result)i);
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_stats_files",
				KF_METRIC_GAUGE, "",
				"files in the stats directories, by the result of reading them"),
			kf_page_labels(page, &label, 1), g->files[i]);
	}
	kf_family_int(
		page,
		kf_page_family(
			page, "konfiscator_exporter_full_directories",
			KF_METRIC_GAUGE, "",
			"stats directories with more names than are read"),
		"", g->left.nr_dirs);
	if (g->conf.outside)
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_exporter_hidden_processes",
				KF_METRIC_GAUGE, "",
				"processes that could not be examined for --stats.containers"),
			"", g->hidden);
	kf_series_created(
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_exporter_state_errors_total",
				KF_METRIC_COUNTER, "",
				"times the state file could not be written"),
			"", g->save_errors),
		scrape->sources->started_ns);
	pthread_mutex_unlock(&g->lock);
	return true;
}

static void exporter_add_answers(struct kf_scrape *scrape, const char *handler,
				 unsigned int status,
				 unsigned long long answers)
{
	struct kf_page *page = &scrape->page;
	char code[16];
	const struct kf_label label[] = {{"handler", handler}, {"code", code}};

	if (!answers)
		return;
	snprintf(code, sizeof(code), "%u", status);
	kf_series_created(
		kf_family_int(page,
			      kf_page_family(page,
					     "konfiscator_http_requests_total",
					     KF_METRIC_COUNTER, "",
					     "requests answered"),
			      kf_page_labels(page, label, 2), answers),
		scrape->sources->started_ns);
}

static void exporter_add_requests(struct kf_scrape *scrape)
{
	struct kf_requests *r = scrape->sources->requests;
	unsigned int h, c;

	for (h = 0; h < KF_NR_HANDLERS; h++) {
		for (c = 0; c < KF_NR_CODES; c++)
			exporter_add_answers(scrape, kf_handler_names[h],
					     kf_codes[c],
					     atomic_load(&r->count[h][c]));
	}
}

const char *const kf_sent_signal_names[KF_NR_SENT] = {
	[KF_SENT_OTLP_METRICS] = "metrics",
	[KF_SENT_OTLP_PROFILES] = "profiles",
	[KF_SENT_PYROSCOPE] = "profiles",
};
const char *const kf_sent_result_names[KF_NR_SENT_RESULTS] = {
	[KF_SENT_ACCEPTED] = "accepted",
	[KF_SENT_REFUSED] = "refused",
	[KF_SENT_DROPPED] = "dropped",
};

static void exporter_add_count(struct kf_scrape *scrape, const char *name,
			       const char *help, const char *labels,
			       uint64_t count)
{
	struct kf_page *page = &scrape->page;

	kf_series_created(
		kf_family_int(
			page,
			kf_page_family(page, name, KF_METRIC_COUNTER, "", help),
			labels, count),
		scrape->sources->started_ns);
}

static void exporter_add_otlp(struct kf_scrape *scrape, struct kf_sent *sent)
{
	struct kf_label label[] = {{"signal", NULL}, {"result", NULL}};
	struct kf_page *page = &scrape->page;

	for (unsigned int s = 0; s <= KF_SENT_OTLP_PROFILES; s++) {
		label[0].value = kf_sent_signal_names[s];
		for (unsigned int r = 0; r < KF_NR_SENT_RESULTS; r++) {
			label[1].value = kf_sent_result_names[r];
			exporter_add_count(
				scrape, "konfiscator_otlp_requests_total",
				"requests sent to the OTLP receiver, by how they ended",
				kf_page_labels(page, label, 2),
				atomic_load(&sent->requests[s][r]));
		}
		exporter_add_count(
			scrape, "konfiscator_otlp_rejected_items_total",
			"data points and samples that the OTLP receiver rejected",
			kf_page_labels(page, label, 1),
			atomic_load(&sent->rejected[s]));
	}
}

static void exporter_add_pyroscope(struct kf_scrape *scrape,
				   struct kf_sent *sent)
{
	struct kf_label label = {"result", NULL};

	for (unsigned int r = 0; r < KF_NR_SENT_RESULTS; r++) {
		label.value = kf_sent_result_names[r];
		exporter_add_count(
			scrape, "konfiscator_pyroscope_requests_total",
			"profiles sent to Pyroscope, by how their requests ended",
			kf_page_labels(&scrape->page, &label, 1),
			atomic_load(&sent->requests[KF_SENT_PYROSCOPE][r]));
	}
}

/* From Linux 6.2 on the size is the number; listing thousands takes long. */
static unsigned int exporter_open_fds(void)
{
	DIR *dir;
	unsigned int nr = 0;
	struct dirent *de;
	struct stat st;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return (unsigned int)st.st_size;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return 0;
	while ((de = readdir(dir)))
		nr += de->d_name[0] != '.';
	closedir(dir);
	return nr - 1; /* without the descriptor that lists */
}

/* Start in seconds since 1970: boot time plus ticks since boot. */
static double exporter_start_time(unsigned long long ticks)
{
	struct timespec now, boot;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (double)(now.tv_sec - boot.tv_sec) +
	       (double)(now.tv_nsec - boot.tv_nsec) * 1e-9 +
	       (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static void exporter_add_stat(struct kf_page *page)
{
	unsigned long long ticks, vsize;
	char buf[1024], *end;
	FILE *f = fopen("/proc/self/stat", "re");
	size_t len;
	long rss;

	if (!f)
		return;
	len = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[len] = '\0';
	end = strrchr(buf, ')');
	if (!end || sscanf(end + 1,
			   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			   "%*s %*s %*s %*s %*s %*s %*s %llu %llu %ld",
			   &ticks, &vsize, &rss) != 3)
		return;
	exporter_add_gauge(
		page, "process_start_time_seconds", "seconds",
		"start time of the exporter, in seconds since the Unix epoch",
		exporter_start_time(ticks));
	exporter_add_gauge(page, "process_virtual_memory_bytes", "bytes",
			   "virtual memory of the exporter", (double)vsize);
	exporter_add_gauge(page, "process_resident_memory_bytes", "bytes",
			   "resident memory of the exporter",
			   (double)rss * (double)sysconf(_SC_PAGESIZE));
}

static void exporter_add_process(struct kf_page *page)
{
	struct rusage u = {0};
	struct rlimit fds = {0};

	getrusage(RUSAGE_SELF, &u);
	getrlimit(RLIMIT_NOFILE, &fds);
	kf_family_double(
		page,
		kf_page_family(page, "process_cpu_seconds_total",
			       KF_METRIC_COUNTER, "seconds",
			       "CPU time of the exporter, user and system"),
		"",
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) *
				1e-6);
	exporter_add_gauge(page, "process_open_fds", "",
			   "open files of the exporter", exporter_open_fds());
	exporter_add_gauge(page, "process_max_fds", "",
			   "limit on open files of the exporter",
			   (double)fds.rlim_cur);
	exporter_add_stat(page);
}

static bool exporter_collect(struct kf_scrape *scrape)
{
	bool done;

	exporter_add_build(&scrape->page);
	done = exporter_add_files(scrape);
	if (scrape->sources->own_metrics) {
		exporter_add_scrapes(scrape);
		exporter_add_requests(scrape);
		if (scrape->sources->sent->otlp)
			exporter_add_otlp(scrape, scrape->sources->sent);
		if (scrape->sources->sent->pyroscope)
			exporter_add_pyroscope(scrape, scrape->sources->sent);
		exporter_add_process(&scrape->page);
	}
	return done;
}

const struct kf_collector kf_collect_exporter = {
	.name = "exporter",
	.help = "build, states of stats files, and the exporter's own process",
	.collect = exporter_collect,
};
