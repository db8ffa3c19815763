#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A profile names the functions of a program whose file nobody can read later: it
# was in a mount namespace of its own, was deleted or replaced, or is an object
# that was loaded and unlinked. Source lines and inlined calls are there, too.
# record --no-symbols leaves all of it out. A deleted program has names for its
# own user, who may not open what others have mapped.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs unshare util-linux
needs setpriv util-linux
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
cat >program.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void *volatile block;

static inline __attribute__((always_inline)) void inlined(void)
{
	block = malloc(BYTES);
}

__attribute__((noinline)) void FUNCTION(void)
{
	inlined();
}

#ifndef OBJECT
int main(int argc, char **argv)
{
	void *object = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*call)(void) =
		object ? (void (*)(void))dlsym(object, "in_object") : FUNCTION;

	if (!call || (object && unlink(argv[1])))
		return 1;
	for (int i = 0; i < 23; i++)
		call();
	write(1, "done\n", 5);
	return (int)read(0, &block, 1);
}
#endif
END

# build FILE FUNCTION OPTION...
build() {
	file=$1
	function=$2
	shift 2
	gcc -w -g -O1 -Wl,--build-id=sha1 -DFUNCTION="$function" \
		-DBYTES=100000 "$@" -o "$file" program.c -ldl ||
		fail "no program"
}

# begin COMMAND...: hold it, without what others left
begin() {
	rm -f prof stats/*
	hold "$@"
}

# names FILE: the functions of the first site
names() {
	"$KF_CLI" --format=csv report "$1" 2>err |
		sed -n '2s/ < \(main\|.*+0x\).*//p' | cut -d, -f6-
}

# kept WHAT WANT: report while it runs, and by a profile after its end
kept() {
	equal "$1, while it runs" "$2" "$(names stats/*)"
	expect 0 "$KF_CLI" record -p "$program" -o prof --duration 0.1
	release
	equal "$1, of a profile" "$2" "$(names prof)"
}

have_map_files() {
	[ -r /proc/self/map_files ] &&
		head -c 1 /proc/self/map_files/* >/dev/null 2>&1
}

build program right
mkdir mnt
cat >private <<'END'
mount -t tmpfs none mnt
cp program mnt/private
exec env LD_PRELOAD="$KF_PRELOAD" mnt/private
END
if unshare -m true 2>err; then
	begin unshare -m sh ./private
	[ ! -e mnt/private ] || fail "the mount namespace is not private"
	kept "a mount namespace" "inlined,right"
	"$KF_CLI" --format=csv report --group=line prof >out 2>err
	grep -q "inlined $WORK/program.c:9," out || fail "no line: $(cat out)"
	"$KF_CLI" report -o prof.pb.gz prof 2>err || fail "pprof: $(cat err)"
	gzip -dc prof.pb.gz | grep -qa right || fail "pprof has no names"
	"$KF_CLI" diff --by=function prof prof >out 2>err || fail "$(cat err)"
else
	echo "no mount namespace: $(cat err)"
fi

if have_map_files; then
	begin run_under_exec ./program
	mv program gone
	build program wrong -UBYTES -DBYTES=100001
	kept "a replaced program" "inlined,right"
	mv gone program

	build object.so in_object -DOBJECT -shared -fPIC
	begin run_under_exec ./program "$WORK/object.so"
	[ ! -e object.so ] || fail "the object is there"
	kept "an unlinked object" "inlined,in_object"
fi

# Without the capability that map_files needs.
user="setpriv --bounding-set=-all --inh-caps=-all"
[ "$(id -u)" != 0 ] || user="$user --reuid=65534 --regid=65534 --clear-groups"
chmod 0711 . && chmod 0777 stats && mkdir -m 0777 of-user
# shellcheck disable=SC2086 # words
if $user test -r "$KF_PRELOAD" && $user test -x "$KF_CLI"; then
	cp program of-user/program
	cd of-user
	begin $user env LD_PRELOAD="$KF_PRELOAD" ./program
	rm program
	$user "$KF_CLI" record -p "$program" -o prof --duration 0.1 ||
		fail "record"
	release
	equal "a deleted program of a user" "inlined,right" "$(names prof)"
	cd ..
fi

begin run_under_exec ./program
expect 0 "$KF_CLI" record --no-symbols -p "$program" -o prof --duration 0.1
release
grep -qa right prof && fail "--no-symbols leaves names in the profile"
rm program
case $(names prof) in
program+0x*) ;;
*) fail "a profile without symbols gives the name $(names prof)" ;;
esac
