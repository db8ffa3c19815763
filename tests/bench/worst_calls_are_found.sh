#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# worst.py has a row for each allocator and engine; a longest call is not below
# the mean, and what is as long in each round not above the longest. A call that
# was made slow is found.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir

"$PYTHON3" "$top_srcdir/bench/worst.py" --build "$top_builddir" \
	--library "$KF_LIB" --operations 5000 --rounds 2 --only glibc \
	--only firstfit --only tlsf --only tlsf-prefault \
	--markdown "$WORK/md" >"$WORK/out" || fail "worst.py ended with $?"
cat "$WORK/out"
for name in glibc firstfit tlsf tlsf-prefault; do
	grep "^| $name |" "$WORK/md" | tr -d '|' >"$WORK/row" ||
		fail "no row of $name"
	awk '{
		if (NF != 14)
			exit 1
		for (i = 2; i < 13; i += 6) {
			longest = $(i + 3) > $(i + 4) ? $(i + 3) : $(i + 4)
			if ($i <= 0 || $i > longest || $(i + 5) > longest ||
			    $(i + 1) > $(i + 2))
				exit 1
		}
	}' "$WORK/row" || fail "$(cat "$WORK/row")"
done

# One malloc in 500 of this library takes a tenth of a millisecond.
cat >"$WORK/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

void *malloc(size_t size)
{
	static void *(*next)(size_t);
	static unsigned long nr;
	struct timespec t, begin;

	if (!next)
		next = dlsym(RTLD_NEXT, "malloc");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while (nr % 500 == 0 && (t.tv_sec - begin.tv_sec) * 1000000000 +
						t.tv_nsec - begin.tv_nsec < 100000);
	nr++;
	return next(size);
}
END
compile -O1 -shared -fPIC -o "$WORK/slow.so" "$WORK/slow.c" -ldl
"$PYTHON3" "$top_srcdir/bench/worst.py" --build "$top_builddir" \
	--library "$WORK/slow.so" --operations 5000 --rounds 1 \
	--only firstfit --markdown "$WORK/md" >/dev/null
again=$(awk -F'|' '/^. firstfit/ { print int($8) }' "$WORK/md")
[ "$again" -ge 100000 ] || fail "the longest was $again: $(cat "$WORK/md")"
