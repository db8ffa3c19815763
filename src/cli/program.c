/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloading is checked before the program runs, because the loader prints
 * nothing (static, set-id) or a message that does not name the cause (other ELF
 * class, musl), and a sanitizer would report errors of its own.
 */
#include "config.h"

#include "cli/program.h"

#include "cli/cli.h"
#include "cli/elf.h"
#include "reader/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_INTERPRETERS 5

/* 0: it can be executed; else the shell's status. */
static int try_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR
			       ? KF_EXIT_NOT_FOUND
			       : KF_EXIT_NOT_EXECUTABLE;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return KF_EXIT_NOT_EXECUTABLE;
	return 0;
}

char *kf_program_find(const char *name, int *status)
{
	const char *path = getenv("PATH");

	*status = KF_EXIT_NOT_FOUND;
	if (strchr(name, '/')) {
		*status = try_file(name);
		return *status ? NULL : kf_format("%s", name);
	}
	if (!path)
		path = "/bin:/usr/bin";
	while (name[0]) {
		int len = (int)strcspn(path, ":");
		char *file = kf_format("%.*s%s%s", len, path, len ? "/" : "./",
				       name);
		int rc = try_file(file);

		if (!rc)
			return file;
		free(file);
		if (rc == KF_EXIT_NOT_EXECUTABLE)
			*status = rc;
		if (!path[len])
			break;
		path += len + 1;
	}
	return NULL;
}

/*
 * The reason if the program starts in secure mode, without preloads; or NULL.
 */
static char *secure_refusal(const char *path, const struct kf_program_as *as)
{
	struct statvfs fs;
	struct stat st;

	if (as->no_new_privileges || stat(path, &st) || statvfs(path, &fs) ||
	    (fs.f_flag & ST_NOSUID))
		return NULL;
	if ((st.st_mode & S_ISUID) && st.st_uid != as->uid)
		return kf_format(
			"it is set-user-ID: the loader ignores LD_PRELOAD");
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
	    st.st_gid != as->gid)
		return kf_format(
			"it is set-group-ID: the loader ignores LD_PRELOAD");
	if (as->uid && getxattr(path, "security.capability", NULL, 0) > 0)
		return kf_format(
			"it has file capabilities: the loader ignores LD_PRELOAD");
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *elf_refusal(const struct kf_elf *elf, const struct kf_elf *lib)
{
	const char *loader = base_name(elf->loader);

	if (elf->class != lib->class)
		return kf_format(
			"it is a %s-bit program and the library is not",
			elf->class == ELFCLASS32 ? "32" : "64");
	if (elf->machine != lib->machine)
		return kf_format("it is for another machine (ELF machine %u, "
				 "the library has %u)",
				 elf->machine, lib->machine);
	/* the loader started by hand, `ld.so program`, does preload */
	if (!loader[0] && elf->dynamic && !strncmp(elf->soname, "ld-linux", 8))
		return NULL;
	if (!loader[0])
		return kf_format("it is statically linked: nothing can be "
				 "preloaded");
	if (!strncmp(loader, "ld-musl", 7))
		return kf_format(
			"it uses musl (%s), but the library needs glibc",
			elf->loader);
	if (strncmp(loader, "ld-linux", 8))
		return kf_format("its loader %s is not glibc's", elf->loader);
	if (elf->sanitizer)
		return kf_format(
			"it is built with %s, which has its own malloc",
			elf->sanitizer);
	return NULL;
}

/* The first line of a script after "#!", or NULL. */
static char *script_line(const char *path)
{
	char line[256];
	int fd = kf_regular_open(path);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 3)
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return line[0] == '#' && line[1] == '!' ? kf_format("%s", line + 2)
						: NULL;
}

/* For `#!/usr/bin/env python3` the interpreter is python3, not env. */
static char *env_program(char *rest)
{
	char *word, *save = NULL;
	int status;

	for (word = strtok_r(rest, " \t", &save); word;
	     word = strtok_r(NULL, " \t", &save)) {
		if (word[0] != '-' && !strchr(word, '='))
			return kf_program_find(word, &status);
	}
	return NULL;
}

static char *script_interpreter(const char *path)
{
	char *line = script_line(path), *save = NULL, *word, *found = NULL;

	if (!line)
		return NULL;
	word = strtok_r(line, " \t", &save);
	if (word && !strcmp(base_name(word), "env"))
		found = env_program(save);
	else if (word)
		found = kf_format("%s", word);
	free(line);
	return found;
}

/* The file of a path, which the caller closes; -1: its path is enough. */
static int program_open(const char *path, const struct kf_program_as *as,
			char at[PATH_MAX])
{
	int fd = as->root ? kf_regular_open_in(as->root, path) : -1;

	if (fd < 0)
		snprintf(at, PATH_MAX, "%s", path);
	else
		snprintf(at, PATH_MAX, "/proc/self/fd/%d", fd);
	return fd;
}

static char *program_refusal(const char *path, const struct kf_elf *lib,
			     const struct kf_program_as *as,
			     unsigned int depth);

/* A file that is no ELF file: a script, or what the kernel knows of. */
static char *refuse_script(const char *at, const struct kf_elf *lib,
			   const struct kf_program_as *as, unsigned int depth)
{
	char *interpreter = script_interpreter(at);
	char *reason = NULL, *whole = NULL;

	if (interpreter && depth < MAX_INTERPRETERS)
		reason = program_refusal(interpreter, lib, as, depth + 1);
	if (reason)
		whole = kf_format("its interpreter %s: %s", interpreter,
				  reason);
	free(reason);
	free(interpreter);
	return whole;
}

static char *program_refusal(const char *path, const struct kf_elf *lib,
			     const struct kf_program_as *as, unsigned int depth)
{
	char at[PATH_MAX], *reason;
	int fd = program_open(path, as, at);
	struct kf_elf elf;

	if (fd < 0 && as->root)
		return errno == ENOENT ? kf_format("%s", strerror(errno))
				       : NULL;
	switch (kf_elf_read(at, &elf)) {
	case KF_ELF_OK:
		reason = secure_refusal(at, as);
		if (!reason)
			reason = elf_refusal(&elf, lib);
		break;
	case KF_ELF_ERROR:
		/* not readable, but perhaps executable: let it run */
		reason = secure_refusal(at, as);
		break;
	default:
		reason = refuse_script(at, lib, as, depth);
		break;
	}
	if (fd >= 0)
		close(fd);
	return reason;
}

char *kf_program_refusal_as(const char *path, const char *library,
			    const struct kf_program_as *as)
{
	struct kf_elf lib;

	if (kf_elf_read(library, &lib) != KF_ELF_OK)
		return kf_format("the library %s is not an ELF file", library);
	return program_refusal(path, &lib, as, 0);
}

char *kf_program_refusal(const char *path, const char *library)
{
	const struct kf_program_as as = {.uid = getuid(), .gid = getgid()};

	return kf_program_refusal_as(path, library, &as);
}
