#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A forked child samples its own blocks, with whole stacks, and goes on with
# what its parent had live; what other children have is not in its table. Where
# the unwinder may wait for a thread of the parent it is not asked in a child,
# and what only it could tell is given up.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs jq jq
workdir
# shellcheck source=tests/sample/cases.sh
. "$top_srcdir/tests/sample/cases.sh"

# samples TABLE BYTES: of blocks of so many usable bytes
samples() {
	awk -v size="$2" '$1 == size { n += $4 } END { print n + 0 }' "$1"
}

# each: leave the table of each process in $WORK/N, of the children's in
# $WORK/child.N
each() {
	rm -f "$WORK"/table.* "$WORK"/child.*
	children=0
	for file in "$WORK/stats/cases".*; do
		table "$file" >"$WORK/table"
		if [ "$(samples "$WORK/table" 180224)" -ge 100 ]; then
			mv "$WORK/table" "$WORK/table.parent"
		else
			children=$((children + 1))
			mv "$WORK/table" "$WORK/child.$children"
		fi
	done
}

cases forking
each
equal "children with a table" 8 "$children"
sites "$WORK/table.parent"
echo "bytes 221184 23" >>"$WORK/truth"
sed -i '/^bytes 180224 /d; s/^bytes 102400 .*/bytes 102400 12/' "$WORK/truth"
for table in "$WORK"/child.*; do
	sites "$table"
done
equal "stacks that were given up" 0 "$(word stacks_failed)"

# One that does not use _dl_find_object(), and in a child never comes back.
mkdir "$WORK/old"
cat >"$WORK/old.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

typedef void *any(void *, void *, void *);

static void *real;
static pid_t first;

__attribute__((constructor)) static void find(void)
{
	real = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
	first = getpid();
}

#define PASS(name)                                              \
	void *name(void *a, void *b, void *c)                   \
	{                                                       \
		return ((any *)dlsym(real, #name))(a, b, c);    \
	}

PASS(_Unwind_GetIP)
PASS(_Unwind_GetIPInfo)
PASS(_Unwind_GetCFA)
PASS(_Unwind_Resume)
PASS(_Unwind_ForcedUnwind)
PASS(__gcc_personality_v0)

void *_Unwind_Backtrace(void *a, void *b, void *c)
{
	while (getpid() != first)
		pause();
	return ((any *)dlsym(real, "_Unwind_Backtrace"))(a, b, c);
}
END
gcc -O2 -w -shared -fPIC -DREAL="\"$(gcc -print-file-name=libgcc_s.so.1)\"" \
	-o "$WORK/old/libgcc_s.so.1" "$WORK/old.c" -ldl ||
	fail "the unwinder cannot be built"
CASES_ENV="LD_LIBRARY_PATH=$WORK/old timeout 300" cases forking
each
equal "children with a table" 8 "$children"
sites "$WORK/table.parent"
equal "stacks that were given up" $((8 * 24)) "$(word stacks_failed)"
