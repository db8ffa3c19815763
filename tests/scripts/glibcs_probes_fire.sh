#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bpftrace sees the probes that the library has for scripts of glibc's malloc:
# the growth and shrinking of regions, which add up to what the regions have, a
# block that is freed twice, and parameters that are only told.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library

cat >"$WORK/main.c" <<'EOF'
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define NR 2000
#define BYTES 20000

int main(void)
{
	static char *block[NR];
	char *volatile twice = malloc(100);

	mallopt(M_MXFAST, 64);
	mallopt(M_MXFAST, 80);
	mallopt(M_TRIM_THRESHOLD, 4096);
	for (int i = 0; i < NR; i++) {
		block[i] = malloc(BYTES);
		memset(block[i], 1, BYTES);
	}
	for (int i = 0; i < NR; i++)
		free(block[i]);
	malloc_trim(0);
	free(twice);
	free(twice);
	return 0;
}
EOF
compile -O0 -fno-builtin -Wno-use-after-free -o "$WORK/main" "$WORK/main.c"

cat >"$WORK/glibc.bt" <<'EOF'
BEGIN { printf("ready\n"); }
usdt:$1:konfiscator:memory_sbrk_more { printf("more %lu %lu\n", arg0, arg1); }
usdt:$1:konfiscator:memory_sbrk_less { printf("less %lu %lu\n", arg0, arg1); }
usdt:$1:konfiscator:memory_heap_new,
usdt:$1:konfiscator:memory_heap_more,
usdt:$1:konfiscator:memory_heap_less { printf("heap %lu %lu\n", arg0, arg1); }
usdt:$1:konfiscator:memory_heap_free { printf("heap %lu 0\n", arg0); }
usdt:$1:konfiscator:memory_mallopt_mxfast { printf("mxfast %d %d\n", arg0, arg1); }
usdt:$1:konfiscator:memory_tcache_double_free { printf("twice %d\n", arg1); }
usdt:$1:konfiscator:memory_tunable_tcache_count { printf("count %d %d\n", arg0, arg1); }
usdt:$1:konfiscator:memory_tunable_tcache_max_bytes { printf("max %d %d\n", arg0, arg1); }
usdt:$1:konfiscator:memory_tunable_tcache_unsorted_limit { printf("limit %d %d\n", arg0, arg1); }
END {
}
EOF
names=glibc.malloc.tcache_count=7:glibc.malloc.tcache_count=0
names=$names:glibc.malloc.tcache_max=1032:glibc.malloc.tcache_unsorted_limit=5
traced "$WORK/glibc.bt" under_traced KONFISCATOR_ON_ERROR=count \
	GLIBC_TUNABLES="$names" "$WORK/main"

# told NAME: what the script printed of it
told() {
	sed -n "s/^$1 //p" "$WORK/trace" | tr '\n' ';'
}
equal "glibc.malloc.tcache_count" "7 0;0 7;" "$(told count)"
equal "glibc.malloc.tcache_max" "1032 0;" "$(told max)"
equal "glibc.malloc.tcache_unsorted_limit" "5 0;" "$(told limit)"
equal "M_MXFAST" "64 0;80 64;" "$(told mxfast)"
equal "the class of the block freed twice" "7;" "$(told twice)"

awk '
	$1 == "heap" {
		sum += $3 - size[$2]
		size[$2] = $3
	}
	$1 == "more" { more += $3 }
	$1 == "less" { less += $3 }
	END {
		printf "more %d, less %d, in the end %d\n", more, less, sum
		exit more - less != sum || more < 40000000 || less < 30000000
	}' "$WORK/trace" >"$WORK/sums" ||
	fail "the regions do not add up: $(cat "$WORK/sums")"
cat "$WORK/sums"
