/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mapped code of a process and its files: from /proc/PID/maps while the
 * process lives, and from its stats file, where the library records the modules
 * of call stacks. A file that was deleted or replaced is opened through
 * /proc/PID/map_files, if that is allowed, and a deleted program through
 * /proc/PID/exe.
 */
#ifndef KF_READER_CODE_H
#define KF_READER_CODE_H

#include "reader/reader.h"

#include <libelf.h>
#include <sys/stat.h>

/* An executable mapping. */
struct kf_code {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;   /* offset of @begin in the file */
	uint64_t base;	   /* where the file's first mapping begins */
	uint64_t inode;	   /* of the mapped file; 0: unknown */
	uint64_t size;	   /* of the file, bytes; 0: unknown */
	uint64_t modified; /* CLOCK_REALTIME, ns; 0: unknown */
	uint32_t number;   /* of the module in the stats file, from 1; or 0 */
	bool stays;	   /* was never unmapped */
	char *path;	   /* raw, as the process sees it */
	bool deleted;	   /* the file was deleted or replaced, or @path cut */
	uint32_t build_id_size; /* 0: unknown */
	uint8_t build_id[KF_STATS_BUILD_ID];
};

/* Sorted by address. */
struct kf_codes {
	size_t nr;
	bool overlap; /* there may be several at an address */
	struct kf_code *code;
};

/**
 * kf_codes_read() - read what code a process has mapped from files
 * @procfs:	procfs' mount point
 * @pid:	the process, 0: it has ended
 * @s:		its stats file, read with KF_TABLE_STACKS
 * @out:	out: the mappings; none if they cannot be read
 *
 * Mappings that are not recorded come last in kf_codes_find().
 *
 * Return: false when out of memory; release @out whatever the result.
 */
bool kf_codes_read(const char *procfs, int pid, const struct kf_snapshot *s,
		   struct kf_codes *out);

/**
 * kf_codes_find() - the mapping that an address is in
 * @codes:	the mappings
 * @address:	the address
 * @generation:	of the stack, see struct kf_stats_stack
 *
 * Return: the mapping, or NULL.
 */
const struct kf_code *kf_codes_find(const struct kf_codes *codes,
				    uint64_t address, uint32_t generation);

/**
 * kf_codes_sort() - sort mappings
 * @codes:	the mappings, in any order
 */
void kf_codes_sort(struct kf_codes *codes);

/**
 * kf_codes_release() - free what kf_codes_read() gave
 * @codes:	the mappings; harmless twice
 */
void kf_codes_release(struct kf_codes *codes);

/**
 * kf_code_name() - the last part of a mapping's path
 * @code:	the mapping
 *
 * Return: the name, raw.
 */
const char *kf_code_name(const struct kf_code *code);

/**
 * kf_code_open() - open the file that a mapping is of
 * @procfs:	procfs' mount point
 * @pid:	the process, 0: it has ended
 * @code:	the mapping
 *
 * If the mapping's build id is known, the file must have it, and may also be
 * the one at the mapping's path in the caller's root. If it is unknown, the
 * file must have the mapping's inode number, and if the process has ended, no
 * file is opened.
 *
 * Return: a file descriptor to be closed, of a regular file; or -1.
 */
int kf_code_open(const char *procfs, int pid, const struct kf_code *code);

/* Rights that a reader may lack; mostly capabilities. */
enum kf_lacks {
	KF_LACKS_NOTHING,
	KF_LACKS_RULE,	  /* one of Landlock or the like, which forbids it */
	KF_LACKS_PTRACE,  /* CAP_SYS_PTRACE */
	KF_LACKS_RESTORE, /* CAP_CHECKPOINT_RESTORE */
	KF_LACKS_SEARCH,  /* that one and CAP_DAC_READ_SEARCH */
	KF_NR_LACKS
};

/**
 * kf_code_lacks() - the rights without which a mapped file is not opened
 * @procfs:	procfs' mount point
 * @pid:	the process, 0: it has ended
 * @code:	a mapping that kf_code_open() opens no file of
 *
 * Return: the rights; KF_LACKS_NOTHING: none that are known would help.
 */
enum kf_lacks kf_code_lacks(const char *procfs, int pid,
			    const struct kf_code *code);

/**
 * kf_code_is_mapped() - whether a process has a mapping of a file now
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @code:	the mapping
 *
 * Return: whether it is the same, of a file with the same inode number.
 */
bool kf_code_is_mapped(const char *procfs, int pid, const struct kf_code *code);

/**
 * kf_code_differs() - how a file differs from the one that was mapped
 * @st:		the file
 * @code:	the mapping
 *
 * Return: a part of a sentence; NULL: it does not, as far as is known.
 */
const char *kf_code_differs(const struct stat *st, const struct kf_code *code);

/**
 * kf_code_identify() - read the build id of a mapping if it is unknown, and
 *			the state of a file that has none
 * @procfs:	procfs' mount point
 * @pid:	the process, 0: it has ended
 * @code:	the mapping
 */
void kf_code_identify(const char *procfs, int pid, struct kf_code *code);

/**
 * kf_elf_build_id() - the build id of an ELF file
 * @fd:		the file
 * @id:		out
 * @room:	bytes at @id
 *
 * Return: its bytes; 0 if there is none, or no room for it.
 */
size_t kf_elf_build_id(int fd, uint8_t *id, size_t room);

/**
 * kf_elf_build_id_of() - the same of what libelf has open
 * @e:		the file; NULL has no build id
 * @id:		out
 * @room:	bytes at @id
 *
 * Return: as kf_elf_build_id().
 */
size_t kf_elf_build_id_of(Elf *e, uint8_t *id, size_t room);

#endif
