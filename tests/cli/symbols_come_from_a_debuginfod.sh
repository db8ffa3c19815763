#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A profile of a stripped program that is gone, as on another machine, has its
# functions, lines and inlined calls where DEBUGINFOD_URLS names a server that
# has its debug information; without one it has addresses.
. "$top_srcdir/tests/lib.sh"
needs gcc build-essential
needs debuginfod debuginfod
needs debuginfod-find debuginfod
needs curl curl
needs readelf binutils
workdir
. "$top_srcdir/tests/cli/cli.sh"
server=
at_exit end_server

end_server() {
	if [ -n "$server" ]; then
		kill "$server"
		wait "$server"
	fi
}

cd "$WORK"
HOME=$WORK
XDG_CACHE_HOME=$WORK/cache
DEBUGINFOD_CACHE_PATH=$WORK/cache
export HOME XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH
mkdir debug gone
cat >program.c <<'END'
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

static inline __attribute__((always_inline)) void inlined(void)
{
	block = malloc(100000);
}

static __attribute__((noinline)) void lose(void)
{
	inlined();
}

int main(void)
{
	for (int i = 0; i < 23; i++)
		lose();
	write(1, "done\n", 5);
	return (int)read(0, &block, 1);
}
END
gcc -w -g -O2 -Wl,--build-id=sha1 -o whole program.c || fail "no program"
objcopy --only-keep-debug whole debug/program.debug
strip -o program whole
rm whole
hold run_under_exec ./program
expect 0 "$KF_CLI" record -p $program -o prof --duration 0.1
release
mv program gone

# names ARG...: the first site's function and its callers in the program
names() {
	rm -rf cache
	"$KF_CLI" --format=csv report "$@" prof 2>/dev/null |
		sed -n '2s/ < __libc_start_call_main.*//p' | cut -d, -f6-
}
case $(names) in
*inlined* | *main*) fail "the names come from elsewhere: $(names)" ;;
program+0x*) ;;
*) fail "the program is not told: $(names)" ;;
esac

id=$(readelf -n gone/program | sed -n 's/.*Build ID: //p')

serves() {
	! kill -0 "$server" 2>/dev/null ||
		curl -sf -o served "$url/buildid/$id/debuginfo"
}

# A port that is taken ends the server at once.
for try in 1 2 3 4 5; do
	port=$((20000 + ($$ * 7 + try * 997) % 12000))
	url=http://127.0.0.1:$port
	debuginfod -d "$WORK/sqlite.$try" -p "$port" -F "$WORK/debug" \
		>server.log 2>&1 &
	server=$!
	wait_for 120 serves || fail "the server: $(tail -n 5 server.log)"
	[ ! -s served ] || break
	wait "$server" || :
	server=
done
DEBUGINFOD_URLS=$url
export DEBUGINFOD_URLS
[ "$(names)" = "inlined,lose < main" ] || fail "the names are $(names)"
lines=$(names --group=line | cut -d, -f1)
[ "${lines##*/}" = program.c:8 ] || fail "the line is $lines"
