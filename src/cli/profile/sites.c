/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes sites from the records of a profile: the counts of each at the time of
 * --at, and the names of its calls.
 */
#include "config.h"

#include "cli/profile/profile.h"

#include "cli/profile/follow.h"
#include "cli/state.h"
#include "reader/regular.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEAK_PARTS 8 /* a snapshot so near to a peak shows it */

bool kf_prof_is_one(const char *path)
{
	int fd = kf_regular_open(path);
	uint64_t magic = 0;
	bool read_it;

	if (fd < 0)
		return false;
	read_it = pread(fd, &magic, sizeof(magic), 0) == sizeof(magic);
	close(fd);
	return read_it &&
	       (magic == KF_PROFILE_MAGIC || magic == KF_STATS_MAGIC);
}

static __attribute__((noreturn)) void out_of_memory(void)
{
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}

/* The age of a process in ns; 0: it has ended at an unknown time. */
static uint64_t file_time(const struct kf_file *f)
{
	return f->life == KF_LIFE_ALIVE ? kf_file_age_ns(f) : 0;
}

/* The processes that descend from one that konfiscator run has started. */
static void add_family(struct kf_maker *m, const char *const *dirs,
		       const struct kf_file *f)
{
	struct kf_follower w = {
		.dirs = dirs,
		.family = f->snap.family,
		.owned = true,
		.owner = f->snap.owner,
		.first = f->name,
		.to = m,
	};

	if (kf_family_is_led(w.family, f->snap.id.pid) &&
	    kf_follow_look(&w, file_time(f), true))
		exit(KF_EXIT_FAILED);
	kf_follow_release(&w);
}

static enum kf_read_result take_stats(struct kf_prof *prof,
				      const char *const *dirs,
				      const struct kf_file *f)
{
	struct kf_maker m = {.realtime = prof->pick.realtime};
	enum kf_read_result result;

	kf_maker_begin(&m, &f->snap.id, f->snap.id.created_ns, 0);
	result = kf_maker_look(&m, f, file_time(f));
	if (result == KF_READ_OK) {
		add_family(&m, dirs, f);
		kf_maker_end(&m);
		result = kf_profile_take(m.bytes, m.size, &prof->profile);
		m.bytes = NULL;
		prof->pid = f->pid;
		if (prof->wants_heap)
			kf_snapshot_read_with(f->dirfd, f->name,
					      KF_TABLE_MAP | KF_TABLE_MOMENTS,
					      &prof->heap);
		if (!kf_codes_read("/proc", f->pid, &f->snap, &prof->codes))
			out_of_memory();
	}
	kf_maker_release(&m);
	return result;
}

/* Makes a profile with one snapshot from a stats file. */
static enum kf_read_result read_stats(struct kf_prof *prof)
{
	const char *slash = strrchr(prof->path, '/');
	char *dir = slash ? kf_format("%.*s", (int)(slash - prof->path + 1),
				      prof->path)
			  : kf_format(".");
	const char *dirs[] = {dir, NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files = {0};
	enum kf_read_result result = KF_READ_FOREIGN;

	if (kf_files_find(&find, &files))
		out_of_memory();
	kf_tell_refused(dirs);
	for (unsigned int i = 0; i < files.nr; i++) {
		const struct kf_file *f = &files.file[i];

		if (strcmp(f->name, slash ? slash + 1 : prof->path) != 0)
			continue;
		result = take_stats(prof, dirs, f);
		break;
	}
	kf_files_release(&files);
	free(dir);
	return result;
}

static int read_any(struct kf_prof *prof)
{
	enum kf_read_result result =
		kf_profile_read(prof->path, &prof->profile);

	if (result == KF_READ_FOREIGN) {
		kf_profile_release(&prof->profile);
		result = read_stats(prof);
	}
	switch (result) {
	case KF_READ_OK:
		return 0;
	case KF_READ_ERROR:
		kf_error("%s: %s: %s", prof->cli->command->name, prof->path,
			 strerror(errno));
		break;
	case KF_READ_FOREIGN:
		kf_error("%s: %s: neither a profile nor a stats file",
			 prof->cli->command->name, prof->path);
		break;
	case KF_READ_INCOMPATIBLE:
		kf_error("%s: %s: written by an incompatible version of "
			 "konfiscator",
			 prof->cli->command->name, prof->path);
		break;
	case KF_READ_NOT_READY:
		kf_error("%s: %s: still being written",
			 prof->cli->command->name, prof->path);
		break;
	default:
		kf_error("%s: %s: damaged", prof->cli->command->name,
			 prof->path);
	}
	return KF_EXIT_FAILED;
}

/*
 * The snapshot with the most live bytes. A later process or the end of the
 * program is no peak of its own: one snapshot alone tells none.
 */
static void find_peak(struct kf_prof *prof)
{
	const struct kf_profile_snapshot *most = NULL;
	size_t nr = 0;

	for (;
	     nr < prof->nr_levels && prof->levels[nr].time_ns <= prof->time_ns;
	     nr++) {
		if (!most || prof->levels[nr].live > most->live)
			most = &prof->levels[nr];
	}
	prof->peak = nr > 1 && most->live ? most : NULL;
}

/*
 * If a single stack had clearly more at its own peak than all together in the
 * largest snapshot, the peak of the program was between two snapshots.
 */
static void check_peak(struct kf_prof *prof)
{
	double most = 0, all = 0;

	for (size_t i = 0; prof->peak && i < prof->nr_sites; i++) {
		const struct kf_site *site = &prof->sites[i];

		most = KF_MAX(most, kf_site_value(site, KF_METRIC_PEAKS).value);
		all += kf_site_value(site, KF_METRIC_PEAK).value;
	}
	if (most > all + all / PEAK_PARTS)
		prof->peak = NULL;
}

/*
 * Only memory that was never freed is live when a program has ended, so the
 * peak says more then.
 */
static int choose_metric(struct kf_prof *prof)
{
	check_peak(prof);
	if (prof->pick.usual) {
		prof->pick.metric = !prof->at_end ? KF_METRIC_LIVE
				    : prof->peak  ? KF_METRIC_PEAK
						  : KF_METRIC_PEAKS;
		return 0;
	}
	if (kf_metric_known(prof, prof->pick.metric))
		return 0;
	kf_error(
		"%s: --metric=peak: no snapshot in %s was taken near the "
		"peak; --metric=peaks shows each stack's own peak, konfiscator "
		"record --interval=SEC takes more snapshots",
		prof->cli->command->name, prof->path);
	return KF_EXIT_FAILED;
}

/* In files of minor version 0 modules have no numbers but their order. */
static void take_modules(const struct kf_profile *p, struct kf_codes *codes)
{
	codes->code = kf_alloc(p->nr_modules, sizeof(*codes->code));
	for (size_t i = 0; i < p->nr_modules; i++) {
		const struct kf_profile_module *m = p->modules[i];
		const struct kf_profile_file file = kf_profile_file(m);
		struct kf_code *code = &codes->code[codes->nr++];

		code->begin = m->begin;
		code->end = m->end;
		code->offset = m->offset;
		code->base = m->base;
		code->number = p->head.minor ? m->number : (uint32_t)i + 1;
		code->stays = m->flags & KF_PROFILE_STAYS;
		code->inode = file.inode;
		code->size = file.size;
		code->modified = file.modified;
		code->path = kf_format("%s", kf_profile_path(m));
		code->build_id_size = m->build_id_size;
		memcpy(code->build_id, m->build_id, m->build_id_size);
	}
	kf_codes_sort(codes);
}

void kf_prof_refused(const char *path, const char *why)
{
	static struct kf_map told = {.entry_size = sizeof(uint64_t)};
	char safe[512];
	bool is_new;

	kf_entry(&told, kf_map_key(KF_MAP_KEY, path, strlen(path)), &is_new);
	if (is_new)
		kf_error("%s is not used for names: it %s",
			 kf_escape(safe, sizeof(safe), path), why);
}

static void open_symbols(struct kf_prof *prof, struct kf_prof_process *p)
{
	bool first = p == prof->processes;
	struct kf_codes codes = {0};

	if (first && prof->codes.code) {
		codes = prof->codes;
		prof->codes = (struct kf_codes){0};
	} else {
		take_modules(p->profile, &codes);
	}
	p->symbols = kf_symbols_open(
		&codes,
		&(struct kf_symbols_how){
			.procfs = "/proc",
			.pid = first ? prof->pid : 0,
			.debug = true,
			.recorded_ns = p->profile->head.real_ns + prof->time_ns,
			.profile = p->profile,
			.refused = kf_prof_refused,
		});
	if (!p->symbols)
		out_of_memory();
}

static void site_add_frames(struct kf_prof *prof, struct kf_site *site)
{
	static uint64_t address[KF_STATS_STACK_MAX];
	const struct kf_prof_process *p = site->process;
	uint32_t nr_frames =
		kf_profile_frames(p->profile, site->stack, address);
	uint32_t generation = kf_profile_generation(p->profile, site->stack);
	size_t room = 0;

	for (uint32_t i = 0; i < nr_frames; i++) {
		size_t nr;
		const struct kf_frame *f = kf_symbols_frames(
			p->symbols, address[i], generation, &nr);

		if (!f)
			out_of_memory();
		room += nr;
		site->frames =
			realloc(site->frames, room * sizeof(struct kf_frame *));
		if (!site->frames)
			out_of_memory();
		for (size_t k = 0; k < nr; k++)
			site->frames[site->nr_frames++] = &f[k];
	}
}

static void name_site(struct kf_prof *prof, struct kf_site *site)
{
	char tag[KF_PROFILE_TAG_PATH], thread[17];
	int32_t tid = site->stack->tid;

	kf_profile_tag_path(site->process->profile, site->stack->tag, tag);
	site->tag = kf_format("%s", tag);
	kf_profile_thread_name(site->process->profile, tid, thread);
	if (!tid)
		site->thread = kf_format("%s", "");
	else
		site->thread =
			kf_format("%s (%d)", thread[0] ? thread : "?", tid);
	site_add_frames(prof, site);
}

static bool site_matches(const regex_t *re, const struct kf_site *site)
{
	if (!regexec(re, site->tag, 0, NULL, 0) ||
	    !regexec(re, site->thread, 0, NULL, 0) ||
	    !regexec(re, site->process->label, 0, NULL, 0))
		return true;
	for (size_t i = 0; i < site->nr_frames; i++) {
		const struct kf_frame *f = site->frames[i];

		if (!regexec(re, f->function, 0, NULL, 0) ||
		    !regexec(re, f->library, 0, NULL, 0) ||
		    (f->file && !regexec(re, f->file, 0, NULL, 0)))
			return true;
	}
	return false;
}

static void site_simplify(const struct kf_prof *prof, struct kf_site *site)
{
	unsigned int how = 0;

	if (prof->cli->raw)
		how |= KF_CALLS_RAW;
	if (prof->cli->no_fold)
		how |= KF_CALLS_ALL;
	if (prof->pick.group == KF_GROUP_LINE)
		how |= KF_CALLS_BY_LINE;
	site->recursive = kf_alloc(site->nr_frames, sizeof(*site->recursive));
	site->nr_frames = kf_calls_simplify(site->frames, site->recursive,
					    site->nr_frames, how);
}

static void release_site(struct kf_site *site)
{
	free(site->frames);
	free(site->recursive);
	free(site->tag);
	free(site->thread);
}

static int sites_by_value(const void *a, const void *b)
{
	const struct kf_site *x = a, *y = b;

	if (x->value.value != y->value.value)
		return x->value.value < y->value.value ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->stack->entry != y->stack->entry)
		return x->stack->entry < y->stack->entry ? -1 : 1;
	return 0;
}

static int keep_sites(struct kf_prof *prof)
{
	bool filtered = prof->pick.filter != NULL;
	size_t kept = 0;
	regex_t re;

	if (filtered &&
	    regcomp(&re, prof->pick.filter, REG_EXTENDED | REG_NOSUB)) {
		kf_error("%s: --filter: '%s' is not a regular expression",
			 prof->cli->command->name, prof->pick.filter);
		return KF_EXIT_USAGE;
	}
	for (size_t i = 0; i < prof->nr_sites; i++) {
		struct kf_site *site = &prof->sites[i];
		bool matches = !filtered || site_matches(&re, site);

		prof->matched |= matches;
		site->value = kf_site_value(site, prof->pick.metric);
		if (!matches ||
		    (!site->now.samples && site->value.value <= 0)) {
			release_site(site);
			continue;
		}
		site_simplify(prof, site);
		kf_metric_add(&prof->total, &site->value);
		prof->sites[kept++] = *site;
	}
	prof->nr_sites = kept;
	if (filtered)
		regfree(&re);
	qsort(prof->sites, kept, sizeof(*prof->sites), sites_by_value);
	return 0;
}

void kf_prof_by(const struct kf_prof *prof, enum kf_metric metric,
		struct kf_prof *by)
{
	*by = *prof;
	by->pick.metric = metric;
	by->total = (struct kf_estimate){0};
	by->sites = kf_alloc(prof->nr_sites, sizeof(*by->sites));
	for (size_t i = 0; i < by->nr_sites; i++) {
		struct kf_site *site = &by->sites[i];

		*site = prof->sites[i];
		site->value = kf_site_value(site, metric);
		kf_metric_add(&by->total, &site->value);
	}
	if (by->nr_sites)
		qsort(by->sites, by->nr_sites, sizeof(*by->sites),
		      sites_by_value);
}

/*
 * The stacks of a process. Growth is measured from the first snapshot: a stack
 * that came later has zero counts there.
 */
static void add_sites(struct kf_prof *prof, struct kf_prof_process *p)
{
	size_t nr = p->profile->nr_stacks;
	struct kf_profile_count *counts = kf_alloc(nr, sizeof(*counts));
	struct kf_profile_count *first = kf_alloc(nr, sizeof(*first));
	struct kf_profile_count *peak = kf_alloc(nr, sizeof(*peak));

	if (nr)
		open_symbols(prof, p);
	p->ages = kf_prof_ages(prof, p);
	kf_prof_counts(prof, p, prof->time_ns, counts);
	if (prof->nr_levels)
		kf_prof_counts(prof, p, prof->levels[0].time_ns, first);
	if (prof->peak)
		kf_prof_counts(prof, p, prof->peak->time_ns, peak);
	for (size_t i = 0; i < nr; i++) {
		struct kf_site *site = &prof->sites[prof->nr_sites++];

		site->process = p;
		site->stack = p->profile->stacks[i];
		site->now = counts[i];
		site->first = first[i];
		site->peak = peak[i];
		site->ages = &p->ages[i];
		name_site(prof, site);
	}
	free(counts);
	free(first);
	free(peak);
}

int kf_prof_open(struct kf_prof *prof)
{
	int status = read_any(prof);
	size_t nr = 0;

	if (!status)
		status = kf_prof_processes(prof);
	if (status)
		return status;
	find_peak(prof);
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen)
			nr += prof->processes[i].profile->nr_stacks;
	}
	prof->sites = kf_alloc(nr, sizeof(*prof->sites));
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen)
			add_sites(prof, &prof->processes[i]);
	}
	status = choose_metric(prof);
	return status ? status : keep_sites(prof);
}

void kf_prof_close(struct kf_prof *prof)
{
	for (size_t i = 0; i < prof->nr_sites; i++)
		release_site(&prof->sites[i]);
	free(prof->sites);
	for (size_t i = 0; i < prof->nr_processes; i++) {
		kf_symbols_close(prof->processes[i].symbols);
		free(prof->processes[i].name);
		free(prof->processes[i].label);
		free(prof->processes[i].ages);
	}
	free(prof->processes);
	free(prof->levels);
	kf_snapshot_release(&prof->heap);
	kf_codes_release(&prof->codes);
	kf_profile_release(&prof->profile);
	prof->sites = NULL;
	prof->processes = NULL;
	prof->levels = NULL;
	prof->nr_sites = prof->nr_processes = prof->nr_levels = 0;
}
