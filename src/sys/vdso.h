/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions that the kernel maps into every process.
 */
#ifndef KF_SYS_VDSO_H
#define KF_SYS_VDSO_H

/**
 * kf_vdso_find() - a function of the kernel's object
 * @name:	as the object exports it
 *
 * The dynamic linker is not asked: it may not be ready, and what it and the C
 * library need for the answer are pages that a small program has no other use
 * for. The look-up is the one of DT_GNU_HASH.
 *
 * Context: any; no system call, no lock.
 * Return: its address, or NULL: no such object, no such hash or no such name.
 */
void *kf_vdso_find(const char *name);

#endif
