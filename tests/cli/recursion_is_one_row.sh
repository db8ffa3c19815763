#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stacks that differ only in how deep a recursion was, if it was one, are one row of
# explain, of top and of report, with the sum of their blocks, and of their errors;
# with --no-fold each depth that is seen is a row.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"

cat >rec.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile block;
__attribute__((noinline, noclone)) static int down(int n)
{
	int r = 1;

	if (n)
		r += down(n - 1);
	else
		block = malloc(102400);
	return r + 1;
}
int main(void)
{
	char c;

	for (int i = 0; i < 200; i++)
		down(i % 20);
	if (write(1, "done\n", 5) != 5)
		return 1;
	return read(0, &c, 1) < 0;
}
END
compile -O1 -g -fno-optimize-sibling-calls -o rec rec.c
# begin DISTANCE
begin() {
	hold env "KONFISCATOR_SAMPLE=$1" LD_PRELOAD="$KF_PRELOAD" ./rec
	pid=$program
}
# of EXPRESSION COMMAND...: of rows that begin with down()
of() {
	expression=$1
	shift
	"$KF_CLI" --format=json "$@" |
		jq -c "[.. | objects | select(.stack? // \"\" |
			startswith(\"down\"))] | $expression"
}

begin 1
equal "bytes of explain" "[$((200 * 102400))]" \
	"$(of 'map(.live_bytes)' explain -w 0 "$pid")"
equal "mean of explain" "[102400]" \
	"$(of 'map(.mean_block_bytes)' explain -w 0 "$pid")"
deep=$(of length explain -w 0 --no-fold "$pid")
[ "$deep" -ge 5 ] || fail "--no-fold has $deep rows"
expect 0 cli top --batch=1 --view=sites "$pid"
equal "rows of top" 1 "$(grep -c ' down' out)"
grep -q '^rec .* 19.5Mi  *0 .* down (recursive) < main' out ||
	fail "top: $(cat out)"
equal "bytes of report" "[$((200 * 102400))]" \
	"$(of 'map(.live_bytes)' report --view=leaks "$pid")"
expect 0 cli report -o out.html "$pid"
equal "rows of the page, by bytes and by blocks" 2 \
	"$(grep -c '<td>.*down (recursive) <span' out.html)"
grep -q '<td>.*down <span' out.html && fail "the page: $(cat out.html)"
expect 0 cli report -o out.folded "$pid"
equal "folded stacks" "$((200 * 102400))" \
	"$(sed -n 's/.*;main;down \([0-9]*\)$/\1/p' out.folded)"
release

# Errors of estimates add up as those of sums do.
begin 64K
one=$(of 'map(.error_95 * .error_95) | add | sqrt' explain -w 0 --no-fold "$pid")
merged=$(of 'map(.error_95 * .error_95) | add | sqrt' explain -w 0 "$pid")
jq -n -e "($one - $merged) | fabs < 0.01 * $one + 20" >/dev/null ||
	fail "the errors are $one apart and $merged merged"
release
