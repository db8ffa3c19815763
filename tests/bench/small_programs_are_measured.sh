#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# small.py has a row for each program with its private dirty pages and its PSS:
# those of a library that writes to a MiB at its start are a MiB more, and one
# that ends the program is a failure.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir
needs perl perl

cat >"$WORK/more.c" <<'END'
static char more[1 << 20];
__attribute__((constructor)) static void start(void)
{
	for (unsigned int i = 0; i < sizeof(more); i += 1024)
		*(volatile char *)(more + i) = 1;
}
END
compile -O1 -shared -fPIC -o "$WORK/more.so" "$WORK/more.c"

small() {
	"$PYTHON3" "$top_srcdir/bench/small.py" --build "$top_builddir" \
		--library "$KF_LIB" --rounds 3 --markdown "$WORK/md" "$@"
}

small --peer "more=$WORK/more.so" --peers glibc,konfiscator,more ||
	fail "small.py ended with $?"
cat "$WORK/md"
awk -F '[|/]' '/^\| (cat|sh|perl|python3) / {
	rows++
	if ($7 - $3 < 950 || $7 - $3 > 1200)
		print "not a MiB more: " $0
	if ($4 < $3 || $6 < $5 || $8 < $7)
		print "less in all than of one kind: " $0
}
END { if (rows != 4) print rows + 0 " rows" }' "$WORK/md" >"$WORK/wrong"
[ ! -s "$WORK/wrong" ] || fail "$(cat "$WORK/wrong")"

cat >"$WORK/ends.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void)
{
	if (getenv("KF_END"))
		_exit(3);
}
END
compile -O1 -shared -fPIC -o "$WORK/ends.so" "$WORK/ends.c"
status=0
small --peer "ends=$WORK/ends.so" --peers glibc,ends --subject ends \
	--env ends:KF_END=1 --only cat >"$WORK/out" 2>&1 || status=$?
equal "status where a program failed" 1 "$status"
grep -qx 'FAIL cat under ends: exit status 3' "$WORK/out" ||
	fail "no reason in: $(cat "$WORK/out")"
grep -q '^| cat | [0-9]*/[0-9]* | FAIL |$' "$WORK/md" ||
	fail "no row in: $(cat "$WORK/md")"

status=0
small --only nosuch 2>"$WORK/err" || status=$?
equal "status of --only nosuch" 2 "$status"
grep -q "^small.py: --only 'nosuch' is not one of cat, " "$WORK/err" ||
	fail "$(cat "$WORK/err")"
