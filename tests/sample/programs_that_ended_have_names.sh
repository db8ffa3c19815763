#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a program's stacks lead through is in its stats file: functions have
# their names when it ended at once, was killed, had closed the object, or was
# a forked child, and when another program has its path by then none has a wrong
# one. Calls that a stack had no room for are said to be there. A program without
# samples has a file as small as ever.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs readelf binutils
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"

cd "$WORK"
cat >plug.c <<'END'
#include <stdlib.h>

char *in_plugin(int bytes);
char *in_plugin(int bytes)
{
	return malloc(bytes);
}

int plug(int blocks);
int plug(int blocks)
{
	int got = 0;

	while (blocks--)
		got += in_plugin(3000) != NULL;
	return got;
}
END
cat >short.c <<'END'
#include "konfiscator.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char *leaky(int bytes);
char *leaky(int bytes)
{
	return malloc(bytes);
}

int hold(int blocks);
int hold(int blocks)
{
	int got = 0;

	while (blocks--)
		got += leaky(4000) != NULL;
	return got;
}

int deep(int calls);
int deep(int calls)
{
	return calls ? deep(calls - 1) : hold(300) != 300;
}

static int load(const char *path)
{
	void *object = dlopen(path, RTLD_NOW);
	int (*plug)(int) = object ? (int (*)(int))dlsym(object, "plug") : NULL;

	if (!plug || plug(300) != 300)
		return 1;
	return dlclose(object);
}

int main(int argc, char **argv)
{
	int status = 0;

	if (!strcmp(argv[1], "fork")) {
		if (!fork())
			_exit(hold(300) != 300);
		return wait(&status) < 0 || status;
	}
	if (!strcmp(argv[1], "deep"))
		return deep(60);
	konf_tag_push("work");
	status = hold(300) != 300 || (argc > 2 && load(argv[2]));
	konf_tag_pop();
	if (!strcmp(argv[1], "killed"))
		kill(getpid(), SIGKILL);
	return status;
}
END
flags="-w -g -O1 -fno-inline -fno-optimize-sibling-calls"
# shellcheck disable=SC2086 # words
gcc $flags -shared -fPIC -o plug.so plug.c || fail "no object"
# shellcheck disable=SC2086 # words
gcc $flags -I "$top_srcdir/include" -Wl,--build-id=sha1 -o short short.c \
	-ldl || fail "no program"

# has WORDS COMMAND...: one line of what it prints has them, in this order.
has() {
	kf_words=$1
	shift
	"$KF_CLI" "$@" >out 2>&1 || fail "$*: status $?: $(cat out)"
	grep -q "$kf_words" out || fail "$*: no '$kf_words': $(cat out)"
}

KONFISCATOR_SAMPLE=4K run_under ./short ends "$WORK/plug.so" || fail "short"
mv stats/short.* file
has "leaky .*hold < main" report file
has "in_plugin .*plug < load < main" report file
has "leaky < hold < main" explain file
has "in_plugin < plug < load < main" explain file
id=$(readelf -n short | sed -n 's/.*Build ID: //p')
"$KF_CLI" report -o prof.pb.gz file 2>err || fail "pprof: $(cat err)"
gzip -dc prof.pb.gz | grep -qa "$id" || fail "no build id $id"

has "snapshots* of process" record --sample 4K -o prof -- ./short ends "$WORK/plug.so"
has "leaky .*hold < main" report prof
has "in_plugin .*plug < load < main" report prof

# killed, with a recorder or none that looks, and exact stacks of a tag
rm -f stats/*
(KONFISCATOR_TAG_STACKS=work run_under ./short killed "$WORK/plug.so") \
	2>err || true
mv stats/short.* killed
has "work .*leaky < hold < main" tags --stacks killed
has "work .*in_plugin < plug < load < main" tags --stacks killed

KONFISCATOR_SAMPLE=4K run_under ./short fork || fail "short fork"
for child in stats/short.*; do
	"$KF_CLI" report "$child" >>forked 2>&1 || true
done
grep -q "leaky .*hold < main" forked || fail "a child: $(cat forked)"

rm -f stats/*
run_under ./short fork || fail "short without samples"
for file in stats/short.*; do
	size=$(stat -c %s "$file")
	[ "$size" -le 49152 ] || fail "without samples $file has $size bytes"
done
equal "files" 2 "$(find stats -name 'short.*' | wc -l | tr -d ' ')"

python=$("$PYTHON3" -c 'import sys; print(sys.executable)')
rm -f stats/*
KONFISCATOR_SAMPLE=4K run_under "$python" -c 'x = [bytes(999)] * 9' || fail python
has "^ *[1-9].*Py.* < .*Py" report --rows=0 stats/*
grep " 0x[0-9a-f]*\( \|$\)" out && fail "python has addresses without names"

# of more calls than a stack has room for
rm -f stats/*
KONFISCATOR_SAMPLE=4K KONFISCATOR_STACK_FRAMES=40 run_under ./short deep ||
	fail "short deep"
"$KF_CLI" report --no-fold -o deep.folded stats/* 2>err || fail "folded: $(cat err)"
grep -q "^\[outer calls\];deep;deep;.*;deep;hold;leaky " deep.folded ||
	fail "a deep stack: $(cat deep.folded)"

# another program in its place, with the names elsewhere
sed 's/leaky/wrong/; s/hold/false_/' short.c >other.c
# shellcheck disable=SC2086 # words
gcc $flags -I "$top_srcdir/include" -Wl,--build-id=sha1 -o short other.c \
	-ldl || fail "no other program"
has "short+0x" report file
grep -q "wrong\|false_" out && fail "a name of another program: $(cat out)"
has "in_plugin .*plug < short+0x" report file
