#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# threads.sh SOURCE: in a build directory for ThreadSanitizer, runs programs with
# many threads that have all of the library linked into them.
#
# The sanitizer has a malloc of its own, which the C library goes on calling: so
# the names that the library gives away are others here, in it and in the
# programs. Left out is src/abi/early.c, a relocation that runs before the
# sanitizer does. tsan.c says what else is another here.
set -eu

source=$1
into=$PWD/threads-apart
rm -rf "$into"
mkdir -p "$into/stats"

objects=
for file in "$source"/src/abi/*.c; do
	name=${file##*/}
	[ "$name" = early.c ] ||
		objects="$objects src/abi/libkonfiscator_la-${name%.c}.lo"
done
random=tests/random/random-random.o
threads="tests/conformance/threads_threads-case.o
	tests/conformance/threads_threads-main.o tests/threads/threads-churn.o
	tests/threads/threads-fork.o tests/threads/threads-storm.o"
# shellcheck disable=SC2086 # lists
make -s -j2 $objects $random $threads libkfcore.la libkfreader.la

objects=$(echo "$objects" | sed 's,src/abi/,&.libs/,g; s/\.lo/.o/g')
# shellcheck disable=SC2086 # a list
nm -g --defined-only $objects | awk '
$2 ~ /[TW]/ && $3 !~ /^_?(kf|konf)_/ { print $3, "apart_" $3 }' |
	sort -u >"$into/names"
grep -q '^malloc apart_malloc$' "$into/names"
# shellcheck disable=SC2086 # lists
for object in $objects $random $threads; do
	objcopy --redefine-syms="$into/names" "$object" "$into/${object##*/}"
done

# join PROGRAM OBJECT...: of these, with the library.
join() {
	program=$1
	shift
	(
		cd "$into"
		for object; do
			set -- "$@" "${object##*/}"
			shift
		done
		unwinder=$(sed -n 's/^KF_UNWINDER = *//p' ../Makefile)
		# shellcheck disable=SC2086 # lists
		${CC:-cc} -fsanitize=thread -o "$program" "$@" \
			${KF_TSAN_LINK:?} \
			libkonfiscator_la-*.o ../.libs/libkfcore.a \
			../.libs/libkfreader.a -lpthread -lm -ldl \
			$unwinder
	)
}
join random $random
# shellcheck disable=SC2086 # a list
join threads $threads

KONFISCATOR_DIR=$into/stats
# A longer history: suppressions need the stacks of both sides of a race.
TSAN_OPTIONS="${TSAN_OPTIONS-} history_size=7"
export KONFISCATOR_DIR TSAN_OPTIONS
status=0
# run WHAT COMMAND...
run() {
	what=$1
	shift
	if "$@" >"$into/log" 2>&1; then
		echo "PASS: $what"
	else
		echo "FAIL: $what"
		cat "$into/log"
		status=1
	fi
}

# The engine system passes on to the sanitizer's malloc; secure has its option.
others=$(sed -n 's/^KF_ENGINE(\([a-z0-9_]*\),.*/ENGINE=\1/p' \
	"$source/src/engines/engines.def" |
	grep -vx 'ENGINE=\(firstfit\|secure\|system\)')
for with in STATS=1 $others SECURE=1 SAMPLE=64k "RECORD=$into/recording" \
	TAG=all; do
	run "random operations, KONFISCATOR_$with" \
		env "KONFISCATOR_$with" "$into/random" --threads 8 \
		--operations "${OPERATIONS:-100000}"
done

# The sanitizer follows no fork of a program with threads.
for case in $("$into/threads" --list | grep -Ev 'fork|clone|child|spawn|prepare'); do
	run "$case" "$into/threads" --case "$case"
done
exit "$status"
