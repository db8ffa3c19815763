#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Under glibc, and under every engine, 64 blocks of 1 MiB need 64 MiB, or 64
# pages where only their first bytes are written; the curve, the limit, the pool
# and the settings are those of the candidate. What cannot be replayed is told.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"

cd "$WORK"
{
	echo "from-start"
	echo "1 1 thread 11"
	for i in $(seq 64); do
		echo "1 ${i}000000 malloc $((i * 16777216)) 1048576"
	done
	for i in $(seq 2 64); do
		echo "1 $((64 + i))000000 free $((i * 16777216))"
	done
	echo "1 192000000 malloc 16 16"
} | mkrecording rec

# A value of a row of the CSV, by the allocator and the key.
value() {
	awk -F, -v name="$1" -v key="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["allocator"] == name { print $column[key] }' "$WORK/out"
}

between() {
	if [ "$3" -lt "$2" ] || [ "$3" -gt "$4" ]; then
		cat "$WORK/out"
		fail "$1: $3 is not between $2 and $4"
	fi
}

MIB=1048576
KIB=1024
set -- --runs=2
for engine in $(engine_names); do
	set -- "$@" --engine="$engine"
done
expect 0 "$KF_CLI" --format=csv whatif "$@" --limit=32M rec
for name in glibc konfiscator "konfiscator engine=tlsf" \
	"konfiscator engine=secure" "konfiscator engine=system"; do
	between "peak of $name" $((63 * MIB)) "$(value "$name" peak_bytes)" \
		$((68 * MIB))
	equal "failed calls of $name" 0 "$(value "$name" failed_calls)"
	equal "runs of $name" 2 "$(value "$name" runs)"
	equal "live of $name" $((64 * MIB)) "$(value "$name" peak_live_bytes)"
done
# a third of the time on the way up, a third on the way down, a third 1 MiB; a page
# of the C library more or less is resident
between "mean of glibc" $((20 * MIB)) "$(value glibc mean_bytes)" $((24 * MIB))
between "end of glibc" $((800 * KIB)) "$(value glibc end_bytes)" $((2 * MIB))
over=$(value glibc over_limit_seconds)
case $over in
0.03[1-3]*) ;;
*) fail "32 MiB are exceeded after $over s" ;;
esac
between "faults of glibc" $((64 * 256)) "$(value glibc page_faults)" $((64 * 256 + 300))

expect 0 "$KF_CLI" --format=csv whatif --runs=1 --touch=first --set=purge_ms=0 rec
between "first bytes under glibc" $((25 * 4 * KIB)) "$(value glibc peak_bytes)" $((900 * KIB))
between "first bytes with a setting" $((25 * 4 * KIB)) \
	"$(value 'konfiscator purge_ms=0' peak_bytes)" $((4 * MIB))
equal "setting" purge_ms=0 "$(value 'konfiscator purge_ms=0' settings)"
expect 0 "$KF_CLI" --format=csv whatif --runs=1 --touch=none rec
between "nothing written under glibc" 0 "$(value glibc peak_bytes)" $((500 * KIB))

# a pool that is too small fails, and is told
expect 0 "$KF_CLI" --format=csv whatif --runs=1 \
	--set=engine=tlsf,tlsf-initial=32M,tlsf-additional=0 rec
tlsf="konfiscator engine=tlsf,tlsf-initial=32M,tlsf-additional=0"
# the name has commas, which CSV quotes
tr -d '"' <"$WORK/out" | grep "tlsf-initial=32M" | grep -q ",3[0-9],1," ||
	fail "$tlsf: $(cat "$WORK/out")"

# the smallest pool: blocks, headers, and the pool's own tables
expect 0 "$KF_CLI" --format=csv whatif --pool-size rec
pool=$(sed -n '2s/,.*//p' "$WORK/out")
between "pool" $((64 * MIB)) "$pool" $((67 * MIB))
# ... of a small program, whose bytes are no whole pages
printf '%s\n' from-start '1 1 thread 11' '1 1000000 malloc 4096 69000' \
	'1 2000000 malloc 16777216 16' | mkrecording small
expect 0 timeout 60 "$KF_CLI" --format=csv whatif --pool-size small
pool=$(sed -n '2s/,.*//p' "$WORK/out")
between "small pool" 69016 "$pool" $((69016 + 8 * KIB))

expect 0 "$KF_CLI" whatif --runs=1 rec
prints "64.0Mi in 64 blocks at the peak"
prints "Compared with glibc:"
expect 0 "$KF_CLI" replay rec
prints "libc.so"
# one run has no spread
equal "spreads" "- -" "$(awk '/libc.so/ { print $3, $7 }' "$WORK/out")"
# `run` itself starts no command that is built with a sanitizer: env does
expect 0 "$KF_CLI" run -- env "$KF_CLI" replay rec
prints "libkonfiscator.so"

# a kernel that does not tell resident memory: no answer rather than 0
cat >silent.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int open(const char *path, int flags, ...)
{
	if (strcmp(path, "/proc/self/smaps_rollup") == 0) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}
END
$CC -shared -fPIC -o silent.so silent.c
expect 1 env LD_PRELOAD="$WORK/silent.so" "$KF_CLI" replay rec
says "/proc/self/smaps_rollup: No such file or directory"

expect 0 "$KF_CLI" whatif --tune --budget=20 --runs=1 rec
grep -Eq "konfiscator run --.* -- PROG|^No setting is better" "$WORK/out" ||
	fail "no line to paste: $(cat "$WORK/out")"

# what is wrong
told() {
	kf_status=$1
	kf_text=$2
	shift 2
	expect "$kf_status" "$KF_CLI" whatif "$@"
	says "$kf_text"
	equal "lines" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
	[ ! -s "$WORK/out" ] || fail "something is on stdout: $(cat "$WORK/out")"
}
echo "no recording" >text
told 1 "text: not a recording" text
told 1 "No such file" missing
told 2 "RECORDING is missing"
told 1 "'./text' is not a shared object that serves malloc" --allocator=./text rec
told 2 "'nope' is not jemalloc" --allocator=nope rec
told 2 "'nope' is not firstfit" --engine=nope rec
told 2 "purge_ms: 'x' is not a number" --set=purge_ms=x rec
told 2 "there is no option 'nope'" --set=nope=1 rec
told 2 "'purge_ms' is not OPTION=VALUE" --set=purge_ms rec
told 2 "'0' is not a number from 1 to 1000" --runs=0 rec
told 2 "--budget needs --tune" --budget=5 rec
told 2 "--pool-size and --runs exclude each other" --pool-size --runs=2 rec
told 2 "'x' is not one of all, first, none" --touch=x rec
told 2 "'x' is not recorded or fast" --pace=x rec
told 2 "does not end in .svg, .png or .pdf" -o x.txt rec
told 2 "exclude each other" --tune --engine=tlsf rec
printf 'from-start\n1 1 thread 11\n' | mkrecording none
told 1 "no call is recorded" none
{
	printf 'from-start\n1 1 thread 11\n'
	echo "1 2 malloc 16 999999999999999"
} | mkrecording large
told 1 "--touch=first needs less" large

# blocks from before the recording, and a double free
printf '1 1 thread 11\n1 2 free 16\n1 3 malloc 32 5\n1 4 free 32\n1 5 free 32\n' |
	mkrecording part
expect 0 "$KF_CLI" whatif --runs=1 part
says "1 frees of blocks from before the recording"
says "1 anomalies: konfiscator report --view=anomalies"
