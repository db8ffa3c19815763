/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a container's processes can put into procfs and cgroupfs, any bytes:
 * their cgroup, their mappings, their command, and the files of memory.
 */
#include "config.h"

#include "exporter/cgroup.h"
#include "reader/outside.h"
#include "reader/proc.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

/* The part of an input up to the next NUL. */
static void write_part(struct fuzz_in *in, const char *name)
{
	const uint8_t *end = in->left ? memchr(in->at, '\0', in->left) : NULL;
	size_t len = end ? (size_t)(end - in->at) : in->left;

	fuzz_write(name, in->at, len);
	in->at += len;
	in->left -= len;
	fuzz_number(in, 1);
}

static int see(void *ctx, int fd, const char *name)
{
	fuzz_require(!strncmp(name, "mnt:[", 5), "a directory of nowhere");
	close(fd);
	return 0;
}

static void check_container(const char *id)
{
	size_t len = strlen(id);

	fuzz_require(!len || len == KF_CONTAINER_ID - 1, "an id that is none");
	fuzz_require(strspn(id, "0123456789abcdefABCDEF") == len,
		     "an id of other than digits");
}

static void look(const char *procfs, const char *cgroupfs)
{
	char id[KF_CONTAINER_ID], comm[KF_PROC_COMM];
	struct kf_cgroup_memory memory = {0};
	struct kf_cgroup_place place;
	unsigned int hidden;

	kf_proc_container(procfs, 1, id);
	check_container(id);
	if (kf_proc_comm(procfs, 1, comm))
		fuzz_require(memchr(comm, '\0', sizeof(comm)),
			     "a command has no end");
	if (kf_cgroup_find(procfs, 1, &place)) {
		fuzz_require(place.path[0] == '/' &&
				     !strstr(place.path, "/../"),
			     "a cgroup leads out of its tree");
		kf_cgroup_read(cgroupfs, &place, &memory);
	}
	place = (struct kf_cgroup_place){"/a", false};
	kf_cgroup_read(cgroupfs, &place, &memory);
	place.v1 = true;
	kf_cgroup_read(cgroupfs, &place, &memory);
	kf_outside_find(procfs, &hidden, see, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char procfs[PATH_MAX], cgroupfs[PATH_MAX];
	struct fuzz_in in = {data, size};

	snprintf(procfs, sizeof(procfs), "%s/proc", fuzz_directory());
	snprintf(cgroupfs, sizeof(cgroupfs), "%s/cgroup", fuzz_directory());
	/* Two mount namespaces, so that the other is looked into. */
	fuzz_write("proc/self/ns/mnt", "", 0);
	fuzz_write("proc/1/ns/mnt", "", 0);
	fuzz_write("proc/1/root/run/x", "", 0);
	write_part(&in, "proc/1/cgroup");
	write_part(&in, "proc/1/maps");
	write_part(&in, "proc/1/comm");
	write_part(&in, "cgroup/a/memory.current");
	write_part(&in, "cgroup/a/memory.max");
	write_part(&in, "cgroup/a/memory.events");
	write_part(&in, "cgroup/memory/a/memory.oom_control");
	write_part(&in, "cgroup/memory/a/memory.limit_in_bytes");
	look(procfs, cgroupfs);
	return 0;
}
