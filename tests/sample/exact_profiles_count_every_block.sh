#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# record --exact counts every block of every call at its stack, without an
# interval; what is live is what was leaked. report --fail-on-leak has status 1
# for it, of profiles and of recordings, and 0 where all was freed. A process is
# told to count each block while it runs, too.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
program=$top_builddir/tests/sample/exact
cd "$WORK"

# of METRIC NAME: blocks or bytes, with those of functions that were called, and
# half of the interval
of() {
	"$KF_CLI" report --format=json --raw --metric="$1" exact.profile |
		jq -r --arg name "$2" 'map(select(.group == $name)) |
			.[0] | "\(.with_called) \(.error_95)"'
}

expect 0 cli record --exact -o exact.profile "$program"
# four threads of 500 rounds, a tenth of which has more calls
equal "blocks by malloc" "2000 0" "$(of count freed_malloc)"
equal "blocks by calloc" "2000 0" "$(of count freed_calloc)"
equal "blocks by realloc" "600 0" "$(of count grown)"
equal "bytes by malloc" "192000 0" "$(of alloc freed_malloc)"
equal "bytes by calloc" "512000 0" "$(of alloc freed_calloc)"
equal "bytes by realloc" "$((200 * (64 + 20480 + 1048576))) 0" \
	"$(of alloc grown)"
equal "live of malloc" "96000 0" "$(of live leaked_malloc)"
equal "live of aligned_alloc" "$((200 * 8192)) 0" "$(of live leaked_aligned)"
equal "live of large blocks" "$((4 * 409600)) 0" "$(of live leaked_large)"
equal "live of realloc" "$((200 * 128)) 0" "$(of live leaked_grown)"
equal "three strings" "3 0" "$(of count leaked_strings)"
equal "bytes of three strings" "48 0" "$(of live leaked_strings)"
for freed in freed_malloc freed_calloc grown; do
	"$KF_CLI" report --leaks --format=csv --raw exact.profile >leaks
	! grep -q ",$freed " leaks || fail "$freed leaks nothing: $(cat leaks)"
done

expect 1 cli report --fail-on-leak exact.profile
says "bytes were not freed"
grep -q leaked_strings "$WORK/out" || fail "the leaks are not shown"
expect 0 cli report --leaks exact.profile

# Samples that fell on nothing do not tell that nothing leaked.
expect 0 cli record --sample=1T -o thin.profile "$program"
expect 1 cli report --fail-on-leak thin.profile
says "none of them was sampled"

# The same of a recording of all calls.
expect 0 cli record --events -o exact.recording "$program"
expect 1 cli report --fail-on-leak exact.recording
says "bytes were not freed"
cat >clean.c <<'END'
#include <stdlib.h>
static void *volatile block;
int main(void)
{
	block = malloc(100);
	free(block);
	return 0;
}
END
compile -o clean clean.c
expect 0 cli record --exact -o clean.profile ./clean
expect 0 cli report --fail-on-leak clean.profile
expect 0 cli record --events -o clean.recording ./clean
expect 0 cli report --fail-on-leak clean.recording

expect 2 cli record --exact --events "$program"
says "--sample, --exact and --events exclude each other"
expect 2 cli record --exact --sample=64K "$program"
says "--sample, --exact and --events exclude each other"
expect 2 cli record --events -n nothing
says "use konfiscator ctl"

# While it runs: from the order on each block counts, until it is taken back.
cat >server.py <<'END'
import sys
kept = []
for line in sys.stdin:
    kept += [bytearray(5000) for i in range(int(line))]
    print(len(kept), flush=True)
END
mkfifo lines made
run_under_exec env PYTHONMALLOC=malloc "$PYTHON3" server.py <lines >made &
server=$!
at_exit "kill $server 2>/dev/null"
exec 4>lines 5<made
# make NR: blocks of the server
make_blocks() {
	echo "$1" >&4
	read -r _ <&5
}
make_blocks 100
"$KF_CLI" record --exact -p "$server" -o live.profile 2>told &
recorder=$!
is_told() {
	make_blocks 1
	grep -q "takes every block" told
}
wait_for 30 is_told || fail "no order was taken: $(cat told)"
make_blocks 1000
kill "$recorder"
wait "$recorder" || fail "the recorder ended with $?: $(cat told)"
blocks=$("$KF_CLI" report --leaks --format=json --raw live.profile |
	jq 'map(select(.stack | test("bytearray|PyByteArray"))) |
	map(.live_blocks) | add')
[ "$blocks" -ge 1000 ] || fail "$blocks blocks of 1000"
[ "$blocks" -lt 1100 ] || fail "$blocks blocks of 1000 and a few before"
samples() {
	"$KF_CLI" stat --format=json -p "$server" | jq '.[0].samples'
}
before=$(samples)
[ "$before" -ge 1000 ] || fail "$before samples of 1000 blocks"
make_blocks 1000
equal "samples afterwards" "$before" "$(samples)"
exec 4>&-
