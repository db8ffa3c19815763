/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile in the format of pprof: its sites with source lines and inlined
 * calls.
 */
#include "config.h"

#include "cli/profile/views.h"
#include "reader/pprof.h"

#include <stdlib.h>
#include <string.h>

static uint64_t pprof_add_module(struct kf_pprof *p,
				 const struct kf_profile_module *m)
{
	return kf_pprof_mapping(p, &(struct kf_pprof_mapping){
					   .begin = m->begin,
					   .end = m->end,
					   .offset = m->offset,
					   .path = kf_profile_path(m),
					   .build_id = m->build_id,
					   .build_id_size = m->build_id_size,
				   });
}

/*
 * The id of the module of a mapping; 0: none. Those of a profile have ids one
 * after the other, from @first on.
 */
static uint64_t module_of(const struct kf_profile *p,
			  const struct kf_code *code, uint64_t first)
{
	for (size_t i = code ? p->nr_modules : 0; i-- > 0;) {
		const struct kf_profile_module *m = p->modules[i];

		if (m->begin == code->begin && m->end == code->end &&
		    !strcmp(kf_profile_path(m), code->path) &&
		    (!p->head.minor || m->number == code->number))
			return first + i;
	}
	return 0;
}

static uint64_t pprof_location(struct kf_pprof *p,
			       const struct kf_profile *profile, uint64_t first,
			       const struct kf_frame *f, size_t nr)
{
	uint64_t id = kf_pprof_known(p, f, nr);

	return id ? id
		  : kf_pprof_location(p, f, nr,
				      module_of(profile, f->code, first));
}

static void pprof_add_labels(struct kf_pprof *p, const struct kf_prof *prof,
			     const struct kf_site *site)
{
	char comm[17];

	kf_profile_thread_name(site->process->profile, site->stack->tid, comm);
	if (prof->nr_chosen > 1)
		kf_pprof_label(p, "process", site->process->label, 0);
	if (site->tag[0])
		kf_pprof_label(p, "tag", site->tag, 0);
	if (site->stack->tid)
		kf_pprof_label(p, "tid", NULL, site->stack->tid);
	if (comm[0])
		kf_pprof_label(p, "comm", comm, 0);
}

static void pprof_add_site(struct kf_pprof *p, const struct kf_prof *prof,
			   const struct kf_site *site, uint64_t first)
{
	uint64_t *ids = kf_alloc(site->nr_frames, sizeof(*ids));
	size_t nr_ids = 0, nr;

	for (size_t i = 0; i < site->nr_frames; i += nr) {
		const struct kf_frame *f = site->frames[i];

		/* those that are inlined into the next, and not left out */
		for (nr = 1; f[nr - 1].inlined && i + nr < site->nr_frames &&
			     site->frames[i + nr] == &f[nr];)
			nr++;
		ids[nr_ids++] =
			pprof_location(p, site->process->profile, first, f, nr);
	}
	kf_pprof_sample(p, ids, nr_ids,
			&(struct kf_pprof_count){
				.allocated = site->now.allocated,
				.freed = site->now.freed,
				.allocated_blocks = site->now.allocated_blocks,
				.freed_blocks = site->now.freed_blocks,
			});
	free(ids);
	pprof_add_labels(p, prof, site);
}

/* What the profile is of, for the people who find the file later. */
static void add_program(struct kf_pprof *p, const struct kf_prof *prof)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	char *text = kf_format("%s, process %d, after %.1f s: %s",
			       id->name[0] ? id->name : id->comm, id->pid,
			       (double)prof->time_ns / 1e9, id->exe);

	kf_pprof_comment(p, text);
	free(text);
}

/* Addresses are those of one process. */
static void pprof_add_process(struct kf_pprof *p, const struct kf_prof *prof,
			      const struct kf_prof_process *process)
{
	const struct kf_profile *profile = process->profile;
	uint64_t first = 1, id;

	kf_pprof_process(p);
	for (size_t i = 0; i < profile->nr_modules; i++) {
		id = pprof_add_module(p, profile->modules[i]);
		if (!i)
			first = id;
	}
	for (size_t i = 0; i < prof->nr_sites; i++) {
		if (prof->sites[i].process == process)
			pprof_add_site(p, prof, &prof->sites[i], first);
	}
}

static int write_pprof(const struct kf_prof *prof, FILE *out)
{
	const struct kf_profile *profile = &prof->profile;
	struct kf_pprof *p = kf_pprof_begin(
		profile->head.real_ns + prof->time_ns, prof->time_ns);
	char *bytes = NULL;
	size_t size;

	if (p) {
		add_program(p, prof);
		for (size_t i = 0; i < prof->nr_processes; i++) {
			if (prof->processes[i].chosen)
				pprof_add_process(p, prof, &prof->processes[i]);
		}
		bytes = kf_pprof_end(p, &size);
	}
	if (!bytes) {
		kf_error("out of memory");
		return -1;
	}
	/* Closing the file finds write errors. */
	fwrite(bytes, 1, size, out);
	free(bytes);
	return 0;
}

const struct kf_prof_format kf_prof_format_pprof = {"pb.gz", write_pprof};
