/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a stats file for the exporter's tests.
 *
 *	make-stats FILE [KEY=VALUE...]
 *
 * pid=N		of this process, which must be alive (default: the
 *caller) dead=1		of a process that has ended
 * boot=TEXT		of another boot
 * ns=N			of another pid namespace
 * exe=PATH		as though that process had run this program
 * comm=, name=		what it is called; any bytes
 * created=NS		when the file was made (default: now)
 * blocks=BYTES:M:F	M mallocs and F frees in the class of that size;
 *			BYTES 0 for large blocks
 * metric=ID:NAME	let the file describe counter ID as another metric
 * COUNTER=N		a counter of stats.def
 */
#include "../fixture/stats-file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *what, const char *value)
{
	fprintf(stderr, "make-stats: %s: %s\n", what, value);
	exit(1);
}

static void put(char *dst, size_t size, const char *value)
{
	memset(dst, 0, size);
	memcpy(dst, value, strnlen(value, size));
}

static void set_blocks(struct fixture *f, const char *value)
{
	uint64_t bytes, mallocs, frees;
	unsigned int c;

	if (sscanf(value, "%" SCNu64 ":%" SCNu64 ":%" SCNu64, &bytes, &mallocs,
		   &frees) != 3)
		die("not BYTES:M:F", value);
	for (c = 0; c < KF_STATS_NR_CLASSES; c++) {
		if (f->classes[c].bytes == bytes)
			break;
	}
	if (c == KF_STATS_NR_CLASSES)
		die("no class of this size", value);
	f->slots[0].class[c].mallocs = mallocs;
	f->slots[0].class[c].frees = frees;
}

static void set_metric(struct fixture *f, const char *value)
{
	const char *colon = strchr(value, ':');
	uint32_t i;

	for (i = 0; colon && i < f->header->descs.nr; i++) {
		if (strncmp(f->descs[i].name, value, (size_t)(colon - value)) !=
			    0 ||
		    f->descs[i].name[colon - value])
			continue;
		put(f->descs[i].metric, sizeof(f->descs[i].metric), colon + 1);
		return;
	}
	die("no such counter", value);
}

static void set_pid(struct fixture *f, const char *value)
{
	if (fixture_set_process(f, (int)strtol(value, NULL, 10)) != 0)
		die("no such process", value);
}

static void set(struct fixture *f, const char *key, const char *value)
{
	uint64_t n = strtoull(value, NULL, 10);

	if (strcmp(key, "pid") == 0)
		set_pid(f, value);
	else if (strcmp(key, "start") == 0)
		f->id->start_ticks = n;
	else if (strcmp(key, "dead") == 0)
		f->id->start_ticks = 1;
	else if (strcmp(key, "boot") == 0)
		put(f->id->boot_id, sizeof(f->id->boot_id), value);
	else if (strcmp(key, "ns") == 0)
		f->id->pid_ns = n;
	else if (strcmp(key, "exe") == 0)
		put(f->id->exe, sizeof(f->id->exe), value);
	else if (strcmp(key, "comm") == 0)
		put(f->id->comm, sizeof(f->id->comm), value);
	else if (strcmp(key, "name") == 0)
		put(f->id->name, sizeof(f->id->name), value);
	else if (strcmp(key, "created") == 0)
		f->id->created_ns = n;
	else if (strcmp(key, "blocks") == 0)
		set_blocks(f, value);
	else if (strcmp(key, "metric") == 0)
		set_metric(f, value);
	else if (fixture_set(f, key, n) != 0)
		die("no such counter", key);
}

int main(int argc, char **argv)
{
	struct fixture f;
	char parent[16];
	int i;

	if (argc < 2)
		die("usage", "make-stats FILE [KEY=VALUE...]");
	fixture_make(&f, 1);
	snprintf(parent, sizeof(parent), "%d", getppid());
	set_pid(&f, parent);
	for (i = 2; i < argc; i++) {
		char *eq = strchr(argv[i], '=');

		if (!eq)
			die("not KEY=VALUE", argv[i]);
		*eq = '\0';
		set(&f, argv[i], eq + 1);
	}
	if (fixture_write(&f, argv[1]) != 0)
		die("cannot write", argv[1]);
	fixture_free(&f);
	return 0;
}
