#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The functions of a program have their names while it runs, though its file was
# deleted or another program took its place, and after its end from a file that
# is still the one that ran. From any other file come no names. A stripped program
# has those of its .gnu_debugdata.
. "$top_srcdir/tests/lib.sh"
needs gcc build-essential
needs objcopy binutils
needs xz xz-utils
workdir
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
cat >program.c <<'END'
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

__attribute__((noinline)) void FUNCTION(void)
{
	block = malloc(BYTES);
}

int main(void)
{
	for (int i = 0; i < 23; i++)
		FUNCTION();
	write(1, "done\n", 5);
	return (int)read(0, &block, 1);
}
END

# build FILE FUNCTION OPTION...
build() {
	file=$1
	function=$2
	shift 2
	gcc -w -O1 -DFUNCTION="$function" -DBYTES=100000 "$@" \
		-o "$file" program.c || fail "no program"
}

recorded() {
	rm -f prof
	hold run_under_exec ./program
	expect 0 "$KF_CLI" record --no-symbols -p "$program" -o prof \
		--duration 0.1
	release
}

# first FILE: the function of the first site
first() {
	"$KF_CLI" --format=csv report "$1" 2>err |
		sed -n '2s/ < .*//p' | cut -d, -f6
}

# refused WHY: the last report says so of the program
refused() {
	grep -q "program is not used for names: it $1" err ||
		fail "no line says '$1': $(cat err)"
}

# Another program has a function at the same address; its code differs, since ld
# makes a build id of that, and not of names.
other_takes_place() {
	build other wrong -UBYTES -DBYTES=100001 "$@"
	mv other program
}

# While it runs.
build program right -Wl,--build-id=sha1
hold run_under_exec ./program
stats=$(echo stats/*)
equal "a program that runs" right "$(first "$stats")"
if [ -r /proc/$program/map_files ] &&
	head -c 1 /proc/$program/map_files/* >/dev/null 2>&1; then
	rm program
	equal "a deleted program" right "$(first "$stats")"
	other_takes_place -Wl,--build-id=sha1
	equal "a program that was replaced" right "$(first "$stats")"
fi
release

# After its end, by its build id.
build program right -Wl,--build-id=sha1
recorded
equal "a program that ended" right "$(first prof)"
touch program
equal "a file of the same build id" right "$(first prof)"
other_takes_place -Wl,--build-id=sha1
case $(first prof) in
program+0x*) ;;
*) fail "another build id gives the name $(first prof)" ;;
esac
refused "has another build id"

# After its end, without a build id.
build program right -Wl,--build-id=none
recorded
equal "a program without a build id" right "$(first prof)"
other_takes_place -Wl,--build-id=none
touch -d "-1 day" program
case $(first prof) in
program+0x*) ;;
*) fail "a file that was put there later gives the name $(first prof)" ;;
esac
refused "has another inode"

# Replaced between its end and that of the recording, as by an update.
build program right -Wl,--build-id=none
rm prof
hold run_under_exec ./program
"$KF_CLI" record --no-symbols -p "$program" -o prof 2>err &
recorder=$!
wait_for 120 test -s prof || fail "no profile"
other_takes_place -Wl,--build-id=none
kill -TERM $recorder
wait $recorder || :
release
case $(first prof) in
program+0x*) ;;
*) fail "a file from during the recording gives the name $(first prof)" ;;
esac
refused "has another inode"

# Overwritten, with a time from before.
for how in size time; do
	build program right -Wl,--build-id=none
	touch -d "2 days ago" program
	recorded
	if [ $how = size ]; then
		echo >>program
		touch -d "2 days ago" program
		want="has another size"
	else
		touch -d "1 day ago" program
		want="has another modification time"
	fi
	case $(first prof) in
	program+0x*) ;;
	*) fail "a file that was overwritten gives $(first prof)" ;;
	esac
	refused "$want"
done

# Stripped, without a build id, with another's debug information beside it.
build program right -Wl,--build-id=none
strip program
recorded
build program.debug wrong -Wl,--build-id=none
case $(first prof) in
program+0x*) ;;
*) fail "debug information of another gives the name $(first prof)" ;;
esac
rm program.debug

# Stripped.
build program right -Wl,--build-id=sha1
objcopy --only-keep-debug program mini
objcopy -S --keep-symbol=right --keep-symbol=main mini
xz mini
strip program
recorded
case $(first prof) in
program+0x*) ;;
*) fail "a stripped program gives the name $(first prof)" ;;
esac
objcopy --add-section .gnu_debugdata=mini.xz program
equal "a program with .gnu_debugdata" right "$(first prof)"
