#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file may have any figures: sums end at their most instead of going round,
# and no command prints a negative number of them.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

sleeper
most=9223372036854775807
all=18446744073709551615
mkdir -p "$WORK/stats"
mkstats "$WORK/stats/1" pid="$pid" name=one blocks=16:1:0:0:0:$most \
	blocks=0:$most:0 large_allocated=$all inherited_large=$most mapped=$all \
	metadata=$most asked_sample=$most given_sample=$all \
	tag=1:0:main tag=2:1:t tag.2.mallocs=$all tag.2.allocated=$most \
	tag.2.inherited=$most tag.2.peak=$all
for i in 2 3; do
	mkstats "$WORK/stats/$i" start=$i created=$i name=one age=0 \
		blocks=16:$most:0:0:0:$most blocks=32:$all:7:0:0:-$most mmaps=$most \
		large_allocated=$most mapped=$most free_runs=$all carved=$most
done

expect 0 cli --format=json stat -a
"$PYTHON3" - "$WORK/out" <<'END' || fail "sums go round"
import json, sys
rows = json.load(open(sys.argv[1]))
print(rows)
for row in rows:
    assert all(v >= 0 for v in row.values()
               if isinstance(v, (int, float))), row
assert max(row["mallocs"] for row in rows) > 2 ** 61, rows
END
for command in ls "stat -a" "stat -a --by=process" "stat -a --by=thread" \
	"stat -a --by=tag" "stat -a --bytes" "explain -a -w 0"; do
	for format in table json csv; do
		# shellcheck disable=SC2086 # words are meant
		status=$(status_of cli --format=$format $command)
		[ "$status" = 0 ] || {
			cat "$WORK/err"
			fail "$command as $format ended with $status"
		}
		! grep -qE '(^|[^0-9A-Za-z.+-])-[0-9]' "$WORK/out" || {
			cat "$WORK/out"
			fail "$command as $format has a negative number"
		}
	done
done
expect 0 cli --format=prom stat -a
expect 0 "$KF_CLI" tags "$WORK/stats/1"
