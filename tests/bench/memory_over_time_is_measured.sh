#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# rss.py has a row for each moment of each scenario, with what the process really
# has: all of what is live while it is full, and all that is freed where nothing
# is given back.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir

# measure [ARG...]: into $WORK/md
measure() {
	"$PYTHON3" "$top_srcdir/bench/rss.py" --build "$top_builddir" \
		--rounds 1 --parts 10 --markdown "$WORK/md" "$@" \
		>"$WORK/out" || fail "rss.py ended with $?: $(cat "$WORK/out")"
}

measure --library "$KF_LIB"
cat "$WORK/out"
equal "rows" "phases small, phases medium, phases large, phases freed,\
 idle-threads idle, idle-threads 3 s later, idle-threads trimmed,\
 sleeping-owners full, sleeping-owners freed, sleeping-owners 3 s later,\
 sleeping-owners trimmed, peak-then-idle full, peak-then-idle freed,\
 peak-then-idle 3 s later, light-use full, light-use freed,\
 light-use 3 s later, growing-vectors peak, growing-vectors freed,\
 producer-consumer peak, producer-consumer freed, thread-pools peak,\
 thread-pools ended, " \
	"$(sed -n 's/^| \([a-z-]*\) | \([a-z0-9 ]*\) |.*/\1 \2, /p' "$WORK/md" |
		tr -d '\n')"

# between SCENARIO MOMENT LEAST MOST: the library's figure
between() {
	got=$(sed -n "s/^| $1 | $2 |.* \([0-9]*\)[.0-9]*\( ([0-9.]*)\)* |\$/\1/p" \
		"$WORK/md")
	if [ "${got:--1}" -lt "$3" ] || [ "$got" -gt "$4" ]; then
		fail "$1, $2: '$got', not $3 to $4"
	fi
}
between light-use full 25 40
between light-use "3 s later" 0 10
between sleeping-owners full 18 30
between sleeping-owners freed 18 30
between sleeping-owners trimmed 0 5

# A malloc that gives nothing back has in the end what it had.
cat >"$WORK/keeps.c" <<'END'
void free(void *p)
{
	(void)p;
}
END
compile -O1 -shared -fPIC -fno-builtin -o "$WORK/keeps.so" "$WORK/keeps.c"
measure --library "$WORK/keeps.so" --only light-use --only sleeping-owners
between light-use full 25 40
between light-use "3 s later" 25 50
between sleeping-owners trimmed 18 30
