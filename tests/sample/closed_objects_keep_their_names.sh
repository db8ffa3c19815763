#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Objects that are loaded one after the other at the same addresses, and whose
# functions have the same offsets, each have the memory of their own calls: when
# they alternate, when one replaces the other at its path and inode, without
# build ids, and with threads that load and close them all the time. Stacks that
# no object has a part in are not counted apart.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"

cd "$WORK"
cat >object.c <<'END'
#include <stdlib.h>

/* in the object's own calls, so that all of them are at the same addresses */
__attribute__((noinline)) void FUNCTION(void)
{
	void *volatile block = malloc(BYTES);

	free(block);
}

void call(int times);
void call(int times)
{
	while (times--)
		FUNCTION();
}
END
cat >host.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **paths;
static int nr_paths;

__attribute__((noinline)) static void use(const char *path, int times, int tell)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*call)(int) = object ? (void (*)(int))dlsym(object, "call") : NULL;

	if (!call) {
		puts(dlerror());
		exit(1);
	}
	if (tell)
		printf("at %p\n", (void *)call);
	call(times);
	dlclose(object);
}

static void *storm(void *arg)
{
	for (int i = 0; i < 400; i++)
		use(paths[(i + (int)(long)arg) % nr_paths], 20, 0);
	return NULL;
}

/* host replace FROM... TO | storm PATH... | PATH... */
int main(int argc, char **argv)
{
	pthread_t thread[4];
	char command[4096];

	setvbuf(stdout, NULL, _IONBF, 0);
	paths = argv + 2;
	nr_paths = argc - 2;
	if (!strcmp(argv[1], "storm")) {
		for (long i = 0; i < 4; i++)
			pthread_create(&thread[i], NULL, storm, (void *)i);
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
		return 0;
	}
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[1], "replace")) {
			use(argv[i], 300, 1);
		} else if (i < argc - 1) {
			snprintf(command, sizeof(command), "cat '%s' >'%s'",
				 argv[i], argv[argc - 1]);
			if (system(command))
				return 1;
			use(argv[argc - 1], 300, 1);
		}
	}
	return 0;
}
END

# objects OPTION...: a.so, with in_a and blocks of 1000, and b.so
objects() {
	for of in a:1000 b:1500; do
		gcc -w -O1 "$@" -shared -fPIC -DFUNCTION=in_"${of%:*}" \
			-DBYTES="${of#*:}" -o "${of%:*}.so" object.c ||
			fail "no object"
	done
}

# run ARG...: run the host; its stats file is called file
run() {
	rm -f stats/* file
	KONFISCATOR_SAMPLE=1K run_under ./host "$@" >said || fail "host: $(cat said)"
	mv stats/host.* file
}

# sizes FILE: function and bytes of a block, of each stack with an object; counts
# are rounded
sizes() {
	for metric in alloc count; do
		"$KF_CLI" report --metric=$metric -o $metric.folded "$1" \
			2>err || fail "report: $(cat err)"
	done
	awk '{ value = $NF; sub(/ [0-9]*$/, "") }
		NR == FNR { bytes[$0] = value; next }
		value > 0 && /;use;/ && !/dl(open|close|sym)/ {
			n = split($0, frame, ";")
			name = frame[n] ~ /\+0x/ ? "?" : frame[n]
			print name, bytes[$0] / value < 1280 ? 1024 : 1536 }' \
		alloc.folded count.folded | sort -u
}

one_place() {
	equal "addresses of the objects" 1 "$(sort -u said | wc -l)"
}

gcc -w -O1 -fno-optimize-sibling-calls -o host host.c -ldl -lpthread ||
	fail "no host"
own=$(printf 'in_a 1024\nin_b 1536')

objects -Wl,--build-id=sha1
run order ./a.so ./b.so ./a.so ./b.so ./b.so ./a.so
one_place
equal "objects in turn" "$own" "$(sizes file)"

rm -f stats/*
expect 0 "$KF_CLI" record --sample 1K -o prof -- ./host order ./a.so ./b.so
equal "objects in turn, of a profile" "$own" "$(sizes prof)"
"$KF_CLI" report -o prof.pb.gz prof 2>err || fail "pprof: $(cat err)"
gzip -dc prof.pb.gz >prof.pb
for name in in_a in_b; do
	grep -qa $name prof.pb || fail "pprof lacks $name"
done

# at one path and inode: the first one's file is gone, and nobody has its names
run replace ./a.so ./b.so "$WORK/c.so"
one_place
equal "an object in place of another" "$(printf '? 1024\nin_b 1536')" \
	"$(sizes file)"

run storm ./a.so ./b.so
sizes file >out
for name in "in_a 1024" "in_b 1536"; do
	grep -q "$name" out || fail "no '$name': $(cat out)"
done
grep "^in_a" out | grep -v " 1024$" && fail "in_a has other memory"
grep "^in_b" out | grep -v " 1536$" && fail "in_b has other memory"
:
