#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stacks as people see them begin with the function that wanted the memory, not
# with a wrapper of malloc, and have each recursion once, in tables and in files.
# --raw and --no-fold show all calls.
. "$top_srcdir/tests/lib.sh"
needs gcc build-essential
workdir
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
cat >program.c <<'END'
#include <stdlib.h>
#include <unistd.h>

#define CALL __attribute__((noinline)) void
#define END __asm__ volatile("")

void *volatile block;

CALL g_malloc(size_t n) { block = malloc(n); END; }
CALL xmalloc(size_t n) { g_malloc(n); END; }
CALL grab(size_t n) { xmalloc(n); END; }
CALL down(int n) { if (n) down(n - 1); else grab(1000000); END; }
CALL pong(int n);
CALL ping(int n) { if (n) pong(n - 1); else grab(2000000); END; }
CALL pong(int n) { if (n) ping(n - 1); else grab(4000000); END; }
CALL once(int n) { grab(n ? n : 8000000); END; }
CALL twice(void) { once(0); END; }

int main(int argc, char **argv)
{
	char c;

	for (int i = 3; i < 13 && argc < 2; i++)
		down(i);
	for (int i = 6; i < 12; i++)
		ping(i);
	twice();
	write(1, "done\n", 5);
	return (int)read(0, &c, 1);
}
END
gcc -w -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-fno-ipa-sra -fno-ipa-cp -o program program.c || fail "no program"
# begin [ARGUMENT]: start the program
begin() {
	rm -f stats/*
	hold run_under_exec ./program "$@"
	stats=$(echo stats/*)
}

# end PROFILE: make a profile, and let the program end
end() {
	expect 0 "$KF_CLI" record -p "$program" -o "$1" --duration 0.1
	release
}

begin

# rows VIEW OPTION...: its rows in CSV
rows() {
	view=$1
	shift
	"$KF_CLI" --format=csv --no-header report --view="$view" --rows=0 \
		"$@" "$stats" 2>err || fail "$view: $(cat err)"
}

# amount COLUMN NAME: a column of the group
amount() {
	rows top | awk -F, -v n="$1" -v name="$2" '$6 == name { print $n }'
}

# near WHAT WANT GOT: the same amount; a block is rounded up to pages
near() {
	if [ "${3:-0}" -lt "$2" ] || [ "$3" -ge $(($2 + $2 / 100)) ]; then
		fail "$1: wanted $2, got '$3'"
	fi
}

near "the function that allocated" 36000000 "$(amount 1 grab)"
equal "a wrapper" "" "$(amount 1 xmalloc)"
equal "another wrapper" "" "$(amount 1 g_malloc)"
near "what recursive calls have in all" 10000000 "$(amount 4 down)"
near "what mutual calls have in all" 18000000 "$(amount 4 ping)"
near "what mutual calls have in all" 18000000 "$(amount 4 pong)"

rows leaks >leaks.csv
near "one row of a recursion" 10000000 \
	"$(sed -n 's/^\([0-9]*\),.*,grab < down (recursive) < main.*/\1/p' leaks.csv)"
near "one row where ping has allocated" 6000000 \
	"$(sed -n 's/^\([0-9]*\),.*,grab < ping < pong (recursive) < ping (recursive) < main.*/\1/p' leaks.csv)"
near "one row where pong has allocated" 12000000 \
	"$(sed -n 's/^\([0-9]*\),.*,grab < pong (recursive) < ping (recursive) < main.*/\1/p' leaks.csv)"
grep -q ",grab < once < twice < main" leaks.csv ||
	fail "calls without recursion are folded: $(cat leaks.csv)"

# tree NAME: how often it is in the tree
tree() {
	rows tree "$@" | grep -c "^[^ ]*  *$name" || :
}

name="down (recursive)\$"
equal "down in the tree" 1 "$(tree)"
name="ping\( (recursive)\)*\$"
equal "ping in the tree" 2 "$(tree)"
name="pong\( (recursive)\)*\$"
equal "pong in the tree" 1 "$(tree)"
name="grab\$"
equal "grab in the tree" 4 "$(tree)"
name="xmalloc\$"
equal "xmalloc in the tree" 0 "$(tree)"
[ "$(tree --raw)" -ge 4 ] || fail "--raw shows no xmalloc"
name="down\$"
equal "each call of down" 13 "$(tree --no-fold)"
rows leaks --raw | grep -q ",g_malloc < xmalloc < grab < " ||
	fail "--raw shows no wrappers"
rows leaks --no-fold | grep -q ",grab < down < down < down < down < down" ||
	fail "--no-fold shows not each call"

# Files have the same stacks.
expect 0 "$KF_CLI" report -o out.folded "$stats"
grep -q ";main;down;grab [0-9]" out.folded ||
	fail "a folded file has more calls: $(cat out.folded)"
expect 0 "$KF_CLI" report --raw --no-fold -o out.folded "$stats"
grep -q ";down;down;down;down;grab;xmalloc;g_malloc [0-9]" out.folded ||
	fail "--raw --no-fold: a folded file has not all calls: $(cat out.folded)"
expect 0 "$KF_CLI" report -o out.svg "$stats"
equal "down in a flame graph" 1 "$(grep -c "<title>down (recursive) in" out.svg)"
grep -q "<title>xmalloc" out.svg && fail "a wrapper is in the flame graph"

# The other commands show stacks in the same way.
dir=$WORK/stats
expect 0 "$KF_CLI" --dir="$dir" --format=json explain -p "$program" -w 0
prints "grab < down (recursive) < main"
expect 0 "$KF_CLI" --dir="$dir" --format=json explain --raw -p "$program" -w 0
prints "g_malloc < xmalloc < grab < down (recursive) < main"
expect 0 "$KF_CLI" --dir="$dir" top --view=sites --batch=1
prints "grab < down (recursive) < main"
end all

begin without
end without
expect 0 "$KF_CLI" --format=csv diff without all
equal "rows of a recursion" 1 "$(grep -c down out)"
grep -q ",grab < down (recursive) < main" out ||
	fail "diff shows no recursion: $(cat out)"
expect 0 "$KF_CLI" --format=csv diff --no-fold without all
equal "the depths of a recursion" 10 "$(grep -c down out)"
