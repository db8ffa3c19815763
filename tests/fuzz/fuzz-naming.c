/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file of process_names of any bytes, and names by it for processes of any
 * bytes: the file's end at the first NUL, what is behind it is of the process.
 */
#include "config.h"

#include "exporter/groups/naming.h"
#include "exporter/trace/trace.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

/* The tracers' table is not of this. */
const char *kf_trace_known(const char *script)
{
	return script;
}

static void apply(const struct kf_naming *n, struct fuzz_in *in)
{
	char comm[16], exe[256], cmdline[256], user[32], cgroups[256];
	const struct kf_naming_process process = {.comm = comm,
						  .exe = exe,
						  .cmdline = cmdline,
						  .user = user,
						  .cgroups = cgroups,
						  .pid = 1};
	char name[64];

	fuzz_text(in, comm, sizeof(comm));
	fuzz_text(in, exe, sizeof(exe));
	fuzz_text(in, cmdline, sizeof(cmdline));
	fuzz_text(in, user, sizeof(user));
	fuzz_text(in, cgroups, sizeof(cgroups));
	if (kf_naming_apply(n, &process, name, sizeof(name)))
		fuzz_require(memchr(name, '\0', sizeof(name)),
			     "a name has no end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	struct fuzz_in in = {data + len, size - len};
	char error[512] = "";
	struct kf_naming *n;

	fuzz_number(&in, 1);
	n = kf_naming_read(fuzz_file(data, len), error, sizeof(error));
	fuzz_require(n || *error, "a file is refused without a word");
	if (!n)
		return 0;
	apply(n, &in);
	kf_naming_free(n);
	return 0;
}
