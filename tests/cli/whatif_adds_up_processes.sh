#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Recordings of several processes are replayed as one: memory that they had at
# the same time is added up, whatever the order of the arguments.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"

cd "$WORK"
mib=1048576

value() {
	sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$WORK/out"
}

# near NAME MIB: a figure of bytes, to 5 %
near() {
	kf_got=$(value "$1")
	if [ "$kf_got" -lt $(($2 * mib * 95 / 100)) ] ||
		[ "$kf_got" -gt $(($2 * mib * 105 / 100)) ]; then
		fail "$1: $kf_got, about $2 MiB are right: $(cat "$WORK/out")"
	fi
}

# part FILE MIB FROM TO: a process with one block, and a small one to its end
part() {
	mkrecording "$1" <<END
from-start
1 100 thread 11
1 $3 malloc 0x10000000 $(($2 * mib))
1 $3 malloc 0x1000 4096
1 $4 free 0x10000000
1 9000 free 0x1000
END
}
mkdir dir
part dir/first 64 1000 9000
part dir/second 32 2000 5000
part dir/third 48 6000 8000
echo "no recording" >dir/readme

for args in "dir" "dir/third dir/first dir/second" "dir/first dir/second dir/third"; do
	# shellcheck disable=SC2086
	expect 0 cli --format=json replay $args
	near peak_live_bytes 112
	near peak_bytes 112
	equal "failed calls" 0 "$(value failed_calls)"
done
expect 0 cli --format=json replay dir/first dir/second
near peak_bytes 96
near peak_live_bytes 96
expect 0 cli --format=json replay dir/second dir/third
near peak_bytes 48

# A part from a ring, and one that is compressed.
if command -v zstd >/dev/null &&
	! cli record --events --compress -o x -- true 2>&1 | grep -q "without libzstd"; then
	zstd -q --rm dir/first
	expect 0 cli --format=json replay dir
	near peak_bytes 112
fi

# What a program and its children recorded, each into its own file.
"$KF_CLI" run --record="$WORK/forks" -- sh -c \
	"'$top_builddir/bench/programs/mstress' 1 2 1000 65536 >/dev/null &
	'$top_builddir/bench/programs/mstress' 1 2 1000 65536 >/dev/null; wait"
[ "$(find . -name 'forks*' | wc -l)" -ge 3 ] || fail "$(ls)"
expect 0 cli whatif --runs=1 forks forks.*
grep -q "recordings together had .* at the peak" "$WORK/out" ||
	fail "$(cat "$WORK/out")"

expect 2 cli whatif --pool-size dir/second dir/third
says "--pool-size: give one RECORDING"
expect 1 cli replay dir/second dir/readme
says "dir/readme: not a recording"
mkdir empty
expect 1 cli replay empty
says "empty: no recording is in this directory"
expect 1 cli replay dir/second nothing
says "nothing: No such file"
expect 2 cli report dir/second dir/third
says "give one file"
