#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Under valgrind's memcheck a program with the library works, and memcheck
# finds in it what it would find without: a leak, an overflow, a use after free,
# whether it takes malloc's place or leaves that to the library, which then
# counts as ever. valgrind's other tools see the default engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs valgrind valgrind
workdir

grep -q 'define HAVE_VALGRIND_MEMCHECK_H 1' "$top_builddir/config.h" ||
	skip "the library was built without valgrind/memcheck.h"

cat >"$WORK/faulty.c" <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char *volatile block = malloc(40);
	char *volatile lost = malloc(1234);
	int faulty = argc > 1;

	memset(block, 0, 40);
	block[39 + faulty] = 1;
	if (!faulty)
		free(lost);
	lost = NULL;
	free(block);
	return faulty && block[8] == 77;
}
END
# CC may be a list.
# shellcheck disable=SC2086
${CC:-cc} -g -O0 -o "$WORK/faulty" "$WORK/faulty.c"
valgrind_reads "$WORK/faulty"

# memcheck OPTION [ARGUMENT]: what it says of the program, in $WORK/said.
memcheck() {
	option=$1
	shift
	rm -f "$WORK/stats/"*
	run_under valgrind --leak-check=full --error-exitcode=9 "$option" \
		"$WORK/faulty" "$@" 2>"$WORK/said"
}

# says TEXT
says() {
	grep -q "$1" "$WORK/said" || {
		cat "$WORK/said"
		fail "memcheck $option does not say '$1'"
	}
}

# The engines of what ran to its end. valgrind's launcher has the library, too,
# but goes on by exec, and what ran before that leaves no file.
engines() {
	"$KF_CLI" ls --dir="$WORK/stats" --format=json | tr -d ' ' |
		sed -n 's/.*"engine":"\([a-z]*\)".*/\1/p' | sort -u | xargs
}

for mode in --quiet --soname-synonyms=somalloc=nouserintercepts; do
	if memcheck "$mode" faults; then
		fail "memcheck $mode finds nothing"
	fi
	says '0 bytes after a block of size 40 alloc'
	says '8 bytes inside a block of size 40 free'
	says '1,234 bytes in 1 blocks are definitely lost'
	memcheck "$mode" || {
		cat "$WORK/said"
		fail "memcheck $mode complains of a program without a fault"
	}
done
equal "engines under memcheck" system "$(engines)"

rm -f "$WORK/stats/"*
run_under valgrind --tool=none "$WORK/faulty" 2>/dev/null
equal "engines under another tool" firstfit "$(engines)"
