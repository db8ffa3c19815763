#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Code that a program made while it runs has the names of /tmp/perf-PID.map in
# all views, also after its end if it was recorded. A map that is no file of the
# program gives none, and a line says why.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
workdir
. "$top_srcdir/tests/cli/cli.sh"
exporter=
map=/nothing
at_exit end_exporter

end_exporter() {
	rm -rf "$map"
	[ -z "$exporter" ] || kill "$exporter" || :
}

cd "$WORK"
cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Calls its argument, with a frame of its own. */
static const unsigned char thunk[] = {
#if defined(__x86_64__)
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
#elif defined(__aarch64__)
	0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00,
	0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
#endif
};

static void *volatile block;

__attribute__((noinline)) void allocate(void)
{
	block = malloc(100000);
	__asm__ volatile("");
}

int main(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!sizeof(thunk) || code == MAP_FAILED)
		return 1;
	memcpy(code, thunk, sizeof(thunk));
	memcpy(code + 256, thunk, sizeof(thunk));
	__builtin___clear_cache(code, code + 4096);
	for (int i = 0; i < 40; i++)
		((void (*)(void (*)(void)))(code + (i % 4 ? 0 : 256)))(allocate);
	printf("%lx\ndone\n", (unsigned long)code);
	fflush(stdout);
	return (int)read(0, &block, 1);
}
END
gcc -w -O1 -fno-omit-frame-pointer -o program program.c || fail "no program"
case $(uname -m) in
x86_64 | aarch64) ;;
*) skip "no code for this kind of machine: $(uname -m)" ;;
esac

begin() {
	hold run_under_exec ./program
	map=/tmp/perf-$program.map
	code=$(head -n 1 said)
}

end() {
	release
	rm -rf "$map"
}

# names FILE: the functions of all stacks
names() {
	cli report -o out.folded "$1" 2>err || fail "no report: $(cat err)"
	tr ';' '\n' <out.folded | sed 's/ [0-9]*$//' | sort -u
}

named() {
	names "$1" >named
	grep -qx "$2" named || fail "$1: no '$2' in: $(cat named)"
}

unnamed() {
	names "$1" >named
	! grep -q "$2" named || fail "$1: '$2' in: $(cat named)"
}

# exporter_knows NAME: the profile that it serves has the name
exporter_knows() {
	"$KF_EXPORTER" --web.listen-address=127.0.0.1:0 --stats.state-file= \
		--stats.dir="$WORK/stats" 2>log &
	exporter=$!
	wait_for 120 grep -q 'listening.*:[0-9]' log || fail "no exporter: $(cat log)"
	"$PYTHON3" - "$(sed -n 's/.*listening.*:\([0-9]*\).*/\1/p' log)" "$1" <<'END' ||
import gzip
import sys
import urllib.request

url = "http://127.0.0.1:%s/debug/pprof/heap" % sys.argv[1]
with urllib.request.urlopen(url) as answer:
    sys.exit(sys.argv[2].encode() not in gzip.decompress(answer.read()))
END
		fail "the exporter does not know '$1'"
	kill "$exporter"
	exporter=
}

begin
stats=$(echo stats/program."$program".*)
unnamed "$stats" made
! grep -q "is not used for names" err || fail "no map, but: $(cat err)"
{
	printf '%s 1000 outdated\n' "$code"
	printf '0x%s 0x0000000000000100 int made::first(int, char*)\n' "$code"
	printf 'garbage\n%x 100 made second\n' $((0x$code + 256))
	printf '%s 1000 half wri' "$code"
} >"$map"
named "$stats" 'int made::first(int, char\*)'
named "$stats" 'made second'
unnamed "$stats" 'outdated\|half'
expect 0 cli --format=csv report --group=lib "$stats"
prints '[jit]'
expect 0 cli --format=json report --filter='made second' "$stats"
prints 'made second'
expect 0 cli explain -p "$program"
prints 'made::first'
if [ -x "$KF_EXPORTER" ]; then
	exporter_knows 'made second'
fi
expect 0 "$KF_CLI" record -p "$program" -o prof --duration 0.1
printf '%s 100 a later name\n' "$code" >>"$map"
echo >>"$map"
end
named prof 'int made::first(int, char\*)'
unnamed prof 'a later name'
expect 0 cli --format=csv report --group=lib prof
prints '[jit]'

begin
stats=$(echo stats/program."$program".*)
mkfifo "$map"
unnamed "$stats" made
grep -q "perf-$program.map is not used for names: it is not a regular" err ||
	fail "a fifo is not told: $(cat err)"
rm "$map"
printf '%s 1000 made by a link\n' "$code" >aim
ln -s "$WORK/aim" "$map"
unnamed "$stats" made
grep -q "perf-$program.map is not used for names: it is not a regular" err ||
	fail "a link is not told: $(cat err)"
rm "$map"
printf '%s 100 made \033[31m red\n' "$code" >"$map"
expect 0 cli report "$stats"
prints 'made \x1b[31m red'
if [ "$(id -u)" = 0 ]; then
	chown 65533 "$map"
	unnamed "$stats" made
	grep -q "it belongs neither to root nor to a user of" err ||
		fail "another's map is not told: $(cat err)"
fi
end
