/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of src/stats share: see support.h.
 */
#include "config.h"

#include "tests/unit/stats/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

char support_dir[PATH_MAX];

static pid_t owner;
static uint64_t class_bytes[KF_STATS_NR_CLASSES];

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

static void remove_dir(void)
{
	if (getpid() == owner)
		nftw(support_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void support_begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(support_dir, sizeof(support_dir), "%s/kf-stats.XXXXXX",
		 tmp ? tmp : "/tmp");
	UNIT_REQUIRE(mkdtemp(support_dir));
	owner = getpid();
	atexit(remove_dir);
	for (size_t i = 0; i < KF_STATS_NR_CLASSES; i++)
		class_bytes[i] = 16 * i;
	kf_stats_init();
}

struct kf_stats_conf support_conf(void)
{
	return (struct kf_stats_conf){
		.enabled = true,
		.trusted = true,
		.guard = true,
		.dir = support_dir,
		.name = "a name",
		.engine = "firstfit",
		.class_bytes = class_bytes,
	};
}

void support_publish(void)
{
	struct kf_stats_conf conf;

	support_begin();
	conf = support_conf();
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(kf_stats_error() == 0);
	UNIT_REQUIRE(kf_stats_path());
}

const char *support_path_in(const char *name)
{
	static char path[PATH_MAX + NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", support_dir, name);
	return path;
}

char *support_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = malloc(KF_STATS_MAX_FILE + 1);
	ssize_t n;

	UNIT_REQUIRE(fd >= 0 && bytes);
	*size = 0;
	/* Files of /proc have no size to be asked for. */
	while ((n = read(fd, bytes + *size, KF_STATS_MAX_FILE - *size)) > 0)
		*size += (size_t)n;
	UNIT_REQUIRE(n == 0);
	close(fd);
	return bytes;
}

static void check_section(const struct kf_stats_section *s, size_t entry_size,
			  size_t size)
{
	uint64_t bytes = (uint64_t)s->nr * s->entry_size;

	UNIT_REQUIRE(s->nr > 0);
	UNIT_REQUIRE(s->entry_size == entry_size);
	UNIT_REQUIRE(s->offset >= sizeof(struct kf_stats_header));
	UNIT_REQUIRE(s->offset % KF_CACHE_LINE == 0);
	UNIT_REQUIRE(s->offset + bytes <= size);
}

char *support_check(const char *path)
{
	size_t size;
	char *bytes = support_read(path, &size);
	const struct kf_stats_header *h = (const void *)bytes;

	UNIT_REQUIRE(size >= sizeof(*h));
	UNIT_REQUIRE(h->magic == KF_STATS_MAGIC);
	UNIT_REQUIRE(h->major == KF_STATS_MAJOR);
	UNIT_REQUIRE(h->header_size == sizeof(*h));
	UNIT_REQUIRE(h->ready == 1);
	UNIT_REQUIRE(h->total_size == size);
	check_section(&h->identity, sizeof(struct kf_stats_identity), size);
	check_section(&h->descs, sizeof(struct kf_stats_desc), size);
	check_section(&h->classes, sizeof(struct kf_stats_class), size);
	check_section(&h->words, sizeof(uint64_t), size);
	check_section(&h->control, sizeof(struct kf_stats_control), size);
	check_section(&h->slots, sizeof(struct kf_slot), size);
	UNIT_REQUIRE(h->slots.nr == KF_FEW_SLOTS ||
		     h->slots.offset + h->slots.nr * sizeof(struct kf_slot) ==
			     size);
	return bytes;
}

int support_nr_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int nr = 0;

	UNIT_REQUIRE(d);
	while ((entry = readdir(d)) != NULL)
		nr += entry->d_name[0] != '.';
	closedir(d);
	return nr;
}

int support_join(pid_t pid)
{
	int status;

	UNIT_REQUIRE(pid > 0);
	UNIT_REQUIRE(waitpid(pid, &status, 0) == pid);
	return status;
}
