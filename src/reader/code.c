/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mapped code of a process: see code.h.
 */
#include "config.h"

#include "reader/code.h"
#include "reader/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DELETED " (deleted)"
#define NS_PER_S 1000000000ull
#define MAX_NOTES ((uint64_t)KF_MIB) /* bytes of a segment of notes */

/* A parsed line of maps; @path points into the line, "" if there is none. */
struct line {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	bool executable;
	const char *path;
};

static bool maps_parse_line(char *text, struct line *l)
{
	char modes[5];
	int at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
		   &l->begin, &l->end, modes, &l->offset, &l->inode, &at) < 5 ||
	    !at)
		return false;
	l->executable = modes[2] == 'x';
	l->path = text + at;
	return true;
}

/* Takes ownership of @path; NULL means out of memory. */
static struct kf_code *codes_add(struct kf_codes *out, char *path)
{
	struct kf_code *code = out->code;

	/* the room doubles: it is full whenever the number is a power of 2 */
	if (path && !(out->nr & (out->nr - 1))) {
		code = realloc(code,
			       (out->nr ? 2 * out->nr : 1) * sizeof(*code));
		if (code)
			out->code = code;
	}
	if (!path || !code) {
		free(path);
		return NULL;
	}
	code += out->nr++;
	*code = (struct kf_code){.path = path};
	return code;
}

static bool add_line(struct kf_codes *out, const struct line *l, uint64_t base)
{
	struct kf_code *code = codes_add(out, strdup(l->path));
	size_t len = strlen(l->path), tail = strlen(DELETED);

	if (!code)
		return false;
	code->begin = l->begin;
	code->end = l->end;
	code->offset = l->offset;
	code->base = base;
	code->inode = l->inode;
	code->deleted = len > tail && !strcmp(l->path + len - tail, DELETED);
	if (code->deleted)
		code->path[len - tail] = '\0';
	return true;
}

static bool read_maps(const char *procfs, int pid, struct kf_codes *out)
{
	char *text = NULL, file[PATH_MAX] = "";
	uint64_t base = 0;
	bool done = true;
	size_t room = 0;
	FILE *f;

	snprintf(file, sizeof(file), "%s/%d/maps", procfs, pid);
	f = fopen(file, "re");
	file[0] = '\0';
	while (f && done && getline(&text, &room, f) > 0) {
		struct line l;

		if (!maps_parse_line(text, &l) || l.path[0] != '/')
			continue;
		if (strcmp(l.path, file) || !l.offset) {
			snprintf(file, sizeof(file), "%s", l.path);
			base = l.begin;
		}
		if (l.executable)
			done = add_line(out, &l, base);
	}
	if (f)
		fclose(f);
	free(text);
	return done;
}

bool kf_code_is_mapped(const char *procfs, int pid, const struct kf_code *code)
{
	struct kf_codes now = {0};
	bool found = false;

	read_maps(procfs, pid, &now);
	for (size_t i = 0; i < now.nr && !found; i++)
		found = now.code[i].begin == code->begin &&
			now.code[i].end == code->end &&
			now.code[i].offset == code->offset &&
			now.code[i].base == code->base &&
			now.code[i].inode == code->inode;
	kf_codes_release(&now);
	return found;
}

static void code_know(struct kf_code *code, const struct kf_stats_module *m,
		      uint32_t number)
{
	memcpy(code->build_id, m->build_id, m->build_id_size);
	code->build_id_size = m->build_id_size;
	if (m->inode)
		code->inode = m->inode;
	code->size = m->size;
	code->modified = m->modified;
	code->number = number;
	code->stays = m->flags & KF_MODULE_STAYS;
}

/* A mapping without number that the module is of, or NULL. */
static struct kf_code *code_of(struct kf_codes *out,
			       const struct kf_stats_module *m)
{
	for (size_t i = 0; i < out->nr; i++) {
		struct kf_code *code = &out->code[i];

		if (!code->number && m->begin == code->begin &&
		    m->end == code->end && m->offset == code->offset &&
		    (!m->inode || m->inode == code->inode) &&
		    !strcmp(m->path, code->path))
			return code;
	}
	return NULL;
}

static bool codes_add_module(struct kf_codes *out,
			     const struct kf_stats_module *m, uint32_t number)
{
	struct kf_code *code = m->begin ? code_of(out, m) : NULL;

	if (!m->begin)
		return true;
	if (!code) {
		code = codes_add(out, strdup(m->path));
		if (!code)
			return false;
		code->begin = m->begin;
		code->end = m->end;
		code->offset = m->offset;
		code->base = m->base;
		code->deleted = m->flags & (KF_MODULE_DELETED | KF_MODULE_CUT);
	}
	code_know(code, m, number);
	return true;
}

static int codes_by_begin(const void *a, const void *b)
{
	const struct kf_code *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin > y->begin ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

void kf_codes_sort(struct kf_codes *codes)
{
	uint64_t end = 0;

	if (codes->nr)
		qsort(codes->code, codes->nr, sizeof(*codes->code),
		      codes_by_begin);
	codes->overlap = false;
	for (size_t i = 0; i < codes->nr; i++) {
		codes->overlap |= codes->code[i].begin < end;
		end = KF_MAX(end, codes->code[i].end);
	}
}

bool kf_codes_read(const char *procfs, int pid, const struct kf_snapshot *s,
		   struct kf_codes *out)
{
	bool done = true;

	*out = (struct kf_codes){0};
	if (pid)
		done = read_maps(procfs, pid, out);
	for (uint32_t i = 0; done && i < s->nr_modules; i++)
		done = codes_add_module(out, &s->modules[i], i + 1);
	kf_codes_sort(out);
	return done;
}

/* The last mapping that begins at the address or before, plus 1. */
static size_t codes_before(const struct kf_codes *codes, uint64_t address)
{
	size_t low = 0, high = codes->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (codes->code[mid].begin <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether @a is a better choice than @b, which may be NULL. */
static bool code_is_better(const struct kf_code *a, const struct kf_code *b,
			   uint32_t generation)
{
	if (!b || !b->number || !a->number)
		return !b || a->number;
	if ((a->number <= generation) != (b->number <= generation))
		return a->number <= generation;
	return (a->number > b->number) == (a->number <= generation);
}

const struct kf_code *kf_codes_find(const struct kf_codes *codes,
				    uint64_t address, uint32_t generation)
{
	const struct kf_code *found = NULL;
	size_t i = codes_before(codes, address);

	for (size_t left = codes->overlap ? i : KF_MIN(i, (size_t)1); left--;) {
		const struct kf_code *code = &codes->code[--i];

		if (address < code->end &&
		    (generation != KF_GENERATION_UNSURE || code->stays) &&
		    code_is_better(code, found, generation))
			found = code;
	}
	return found;
}

void kf_codes_release(struct kf_codes *codes)
{
	while (codes->nr)
		free(codes->code[--codes->nr].path);
	free(codes->code);
	codes->code = NULL;
}

const char *kf_code_name(const struct kf_code *code)
{
	const char *slash = strrchr(code->path, '/');

	return slash ? slash + 1 : code->path;
}

/*
 * A mapped file may have been overwritten, so the build id is compared if it is
 * known. The device is not: in maps it differs from stat's on some file
 * systems.
 */
static bool is_of(int fd, const struct kf_code *code)
{
	uint8_t id[KF_STATS_BUILD_ID];
	struct stat st;

	if (code->build_id_size)
		return kf_elf_build_id(fd, id, sizeof(id)) ==
			       code->build_id_size &&
		       !memcmp(id, code->build_id, code->build_id_size);
	return code->inode && !fstat(fd, &st) && st.st_ino == code->inode;
}

/* Returns @fd, or -1 if it is of another file. */
static int keep_if_of(int fd, const struct kf_code *code)
{
	if (fd < 0 || is_of(fd, code))
		return fd;
	close(fd);
	return -1;
}

/* Opens the file at the path; the path of a deleted file may have another. */
static int open_path(const char *procfs, int pid, const struct kf_code *code)
{
	char root[PATH_MAX];

	if (code->path[0] != '/' || (!code->build_id_size && code->deleted))
		return -1;
	if (!pid)
		return code->build_id_size ? kf_regular_open(code->path) : -1;
	snprintf(root, sizeof(root), "%s/%d/root", procfs, pid);
	return kf_regular_open_in(root, code->path);
}

static void code_map_file(char path[PATH_MAX], const char *procfs, int pid,
			  const struct kf_code *code)
{
	snprintf(path, PATH_MAX, "%s/%d/map_files/%" PRIx64 "-%" PRIx64, procfs,
		 pid, code->begin, code->end);
}

int kf_code_open(const char *procfs, int pid, const struct kf_code *code)
{
	char path[PATH_MAX];
	int fd = -1;

	if (pid) {
		code_map_file(path, procfs, pid, code);
		fd = keep_if_of(kf_regular_open(path), code);
	}
	if (fd < 0)
		fd = keep_if_of(open_path(procfs, pid, code), code);
	if (fd < 0 && pid && (code->inode || code->build_id_size)) {
		snprintf(path, sizeof(path), "%s/%d/exe", procfs, pid);
		fd = keep_if_of(kf_regular_open(path), code);
	}
	/* in our own root, for a reader who may not enter the process' */
	if (fd < 0 && pid)
		fd = keep_if_of(open_path(procfs, 0, code), code);
	return fd;
}

static bool code_is_denied(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 && (errno == EACCES || errno == EPERM);
}

/* Landlock, for one, forbids what the modes of the file allow. */
static bool code_is_ruled_out(const struct kf_code *code)
{
	int fd;

	if (!code->build_id_size || access(code->path, R_OK) != 0)
		return false;
	fd = kf_regular_open(code->path);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EACCES;
}

/* map_files is its user's alone: the kernel looks at that first. */
enum kf_lacks kf_code_lacks(const char *procfs, int pid,
			    const struct kf_code *code)
{
	char path[PATH_MAX];

	if (!pid || code->path[0] != '/')
		return KF_LACKS_NOTHING;
	if (code_is_ruled_out(code))
		return KF_LACKS_RULE;
	snprintf(path, sizeof(path), "%s/%d/root", procfs, pid);
	if (code_is_denied(path))
		return KF_LACKS_PTRACE;
	code_map_file(path, procfs, pid, code);
	if (!code_is_denied(path))
		return KF_LACKS_NOTHING;
	return errno == EPERM ? KF_LACKS_RESTORE : KF_LACKS_SEARCH;
}

static uint64_t code_modified(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * NS_PER_S +
	       (uint64_t)st->st_mtim.tv_nsec;
}

const char *kf_code_differs(const struct stat *st, const struct kf_code *code)
{
	if (code->inode && st->st_ino != code->inode)
		return "has another inode";
	if (code->size && (uint64_t)st->st_size != code->size)
		return "has another size";
	if (code->modified && code_modified(st) != code->modified)
		return "has another modification time";
	return NULL;
}

void kf_code_identify(const char *procfs, int pid, struct kf_code *code)
{
	struct stat st;
	int fd = -1;

	if (!code->build_id_size)
		fd = kf_code_open(procfs, pid, code);
	if (fd < 0)
		return;
	code->build_id_size = (uint32_t)kf_elf_build_id(fd, code->build_id,
							sizeof(code->build_id));
	if (!code->size && !fstat(fd, &st)) {
		code->inode = st.st_ino;
		code->size = (uint64_t)st.st_size;
		code->modified = code_modified(&st);
	}
	close(fd);
}

/* The build id in a segment of notes. */
static size_t id_in(Elf *e, const GElf_Phdr *ph, uint8_t *id, size_t room)
{
	/* the size comes from the file, so it is limited */
	Elf_Data *data = elf_getdata_rawchunk(
		e, (int64_t)ph->p_offset, KF_MIN(ph->p_filesz, MAX_NOTES),
		ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, desc;
	GElf_Nhdr nh;

	while (data && (at = gelf_getnote(data, at, &nh, &name, &desc)) > 0) {
		const char *base = data->d_buf;

		if (nh.n_type != NT_GNU_BUILD_ID ||
		    nh.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(base + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) ||
		    nh.n_descsz > room)
			continue;
		memcpy(id, base + desc, nh.n_descsz);
		return nh.n_descsz;
	}
	return 0;
}

size_t kf_elf_build_id_of(Elf *e, uint8_t *id, size_t room)
{
	size_t nr = 0, n = 0;
	GElf_Phdr ph;

	if (elf_kind(e) == ELF_K_ELF && !elf_getphdrnum(e, &nr)) {
		for (size_t i = 0; i < nr && !n; i++) {
			if (gelf_getphdr(e, (int)i, &ph) &&
			    ph.p_type == PT_NOTE)
				n = id_in(e, &ph, id, room);
		}
	}
	return n;
}

size_t kf_elf_build_id(int fd, uint8_t *id, size_t room)
{
	size_t n;
	Elf *e;

	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_READ, NULL);
	n = kf_elf_build_id_of(e, id, room);
	elf_end(e);
	return n;
}
