#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# An object that was unlinked after dlopen() has the names of its exported
# functions for a user who may not open what is mapped: they are read from the
# process. Whatever a process has there instead of an object does no harm, and
# where nothing can be read, a line says what is missing.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs setpriv util-linux
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
user="setpriv --bounding-set=-all --inh-caps=-all"
[ "$(id -u)" != 0 ] || user="$user --reuid=65534 --regid=65534 --clear-groups"
chmod 0711 . && chmod 0777 stats && mkdir -m 0777 of-user
# shellcheck disable=SC2086 # words
if ! $user test -r "$KF_PRELOAD" || ! $user test -x "$KF_CLI"; then
	skip "another user may not use this build"
fi

cat >object.c <<'END2'
#include <stdlib.h>

void *volatile block;

__attribute__((noinline)) static void hidden(void)
{
	block = malloc(200000);
}

void exported(void)
{
	block = malloc(100000);
	hidden();
	block = NULL;
}
END2
# program OBJECT [SEED | sealed]: with a seed, it changes bytes of the object's
# head; sealed, it allows nobody to look into it
cat >program.c <<'END2'
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct link_map *object = dlopen(argv[1], RTLD_NOW);
	void (*call)(void) =
		object ? (void (*)(void))dlsym(object, "exported") : NULL;
	char byte;

	if (!call || unlink(argv[1]))
		return 1;
	for (int i = 0; i < 23; i++)
		call();
	if (argc > 2 && !strcmp(argv[2], "sealed")) {
		prctl(PR_SET_DUMPABLE, 0);
	} else if (argc > 2) {
		unsigned char *head = (void *)object->l_addr;

		srandom((unsigned int)atoi(argv[2]));
		mprotect(head, 4096, PROT_READ | PROT_WRITE);
		for (int i = 0; i < 12; i++)
			head[24 + random() % 700] = (unsigned char)random();
	}
	write(1, "done\n", 5);
	/* its own head may be damaged */
	_exit((int)read(0, &byte, 1));
}
END2
gcc -w -O1 -o program program.c -ldl || fail "no program"

# begin OPTION... -- ARG...: build the object, run the program as the user
begin() {
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # words
	gcc -w -O1 -fno-optimize-sibling-calls -shared -fPIC $options \
		-o of-user/object.so object.c || fail "no object"
	rm -f stats/*
	# shellcheck disable=SC2086 # words
	hold $user env LD_PRELOAD="$KF_PRELOAD" ./program ./of-user/object.so "$@"
}

# report: what the user sees
report() {
	# shellcheck disable=SC2086 # words
	$user "$KF_CLI" --format=csv report "$WORK"/stats/* >out 2>err ||
		fail "report: status $?: $(cat err)"
}

for id in -Wl,--build-id=sha1 -Wl,--build-id=none; do
	begin "$id" --
	report
	grep -q '[^_]exported' out || fail "$id: no name: $(cat out err)"
	grep -q 'hidden' out && fail "$id: a name from nowhere: $(cat out)"
	release
done

begin -Wl,-z,noseparate-code --
report
grep -q '[^_]exported' out || fail "one segment: no name: $(cat out err)"
release

for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	begin -Wl,--build-id=none -- $seed
	report
	release
done

begin -Wl,--build-id=sha1 -- sealed
report
grep -q '[^_]exported' out && fail "sealed: a name from nowhere: $(cat out)"
grep -q "object.so is not used for names: .* needs CAP_SYS_PTRACE" err ||
	fail "sealed: nothing says what is missing: $(cat err)"
release
