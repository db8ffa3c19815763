/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The properties of an ELF file on which preloading depends.
 */
#ifndef KF_CLI_ELF_H
#define KF_CLI_ELF_H

#include "base/compiler.h"

struct kf_elf {
	unsigned int class;	/* ELFCLASS32 or 64 */
	unsigned int machine;	/* e_machine */
	bool dynamic;		/* has a dynamic section */
	char loader[256];	/* PT_INTERP, or "" */
	char soname[64];	/* DT_SONAME, or "" */
	const char *sanitizer;	/* the sanitizer it is built with, or NULL */
	unsigned int nr_probes; /* USDT notes of provider konfiscator */
	unsigned int nr_marks;	/* those of glibc's malloc */
};

enum kf_elf_result {
	KF_ELF_OK,
	KF_ELF_NOT_ELF,
	KF_ELF_ERROR, /* see errno */
};

/**
 * kf_elf_read() - look into an ELF file
 * @path:	the file
 * @elf:	out
 *
 * Return: KF_ELF_OK, or why it could not be read.
 */
enum kf_elf_result kf_elf_read(const char *path, struct kf_elf *elf);

#endif
