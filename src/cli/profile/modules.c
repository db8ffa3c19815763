/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mapped code of a process, as records. Build ids are those that the
 * library read, else those of the files now.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/profile/make.h"
#include "reader/code.h"

#include <stdlib.h>
#include <string.h>

/* The path is followed by the state of the file, if it is known. */
static void put_module(struct kf_maker *m, const struct kf_code *code)
{
	struct kf_profile_module module = {
		.record.kind = KF_PROFILE_MODULE,
		.begin = code->begin,
		.end = code->end,
		.offset = code->offset,
		.base = code->base,
		.build_id_size = code->build_id_size,
		.number = (uint16_t)code->number,
		.flags = code->stays ? KF_PROFILE_STAYS : 0,
	};
	const struct kf_profile_file file = {code->inode, code->size,
					     code->modified};
	size_t at = KF_ALIGN_UP(strlen(code->path) + 1, (size_t)8);
	char *more = kf_alloc(1, at + sizeof(file));

	memcpy(more, code->path, strlen(code->path));
	memcpy(more + at, &file, sizeof(file));
	if (file.inode)
		module.flags |= KF_PROFILE_HAS_FILE;
	memcpy(module.build_id, code->build_id, code->build_id_size);
	kf_maker_put(m, &module, sizeof(module), more,
		     file.inode ? at + sizeof(file) : at);
	free(more);
}

/* A file may be mapped at the address of an earlier one: both are recorded. */
static uint64_t module_key(const struct kf_code *code)
{
	uint64_t key =
		code->begin ^ code->offset << 20 ^ (uint64_t)code->number << 52;

	return kf_map_key(key, code->path, strlen(code->path));
}

void kf_maker_modules(struct kf_maker *m, int pid, const struct kf_snapshot *s)
{
	struct kf_codes codes;
	bool is_new, any = false;

	if (!kf_codes_read("/proc", pid, s, &codes)) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	for (size_t i = 0; i < codes.nr; i++) {
		kf_entry(&m->modules, module_key(&codes.code[i]), &is_new);
		if (!is_new)
			continue;
		kf_code_identify("/proc", pid, &codes.code[i]);
		put_module(m, &codes.code[i]);
		any = true;
	}
	if (!any) {
		kf_codes_release(&codes);
		return;
	}
	kf_symbols_close(m->symbols);
	m->symbols = NULL;
	kf_codes_release(&m->codes);
	m->codes = codes;
}
