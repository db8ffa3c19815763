#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# search.sh SOURCE: builds all fuzzers of SOURCE in ./fuzz with clang's
# libFuzzer, and lets each search for $FUZZ_S seconds from the kept inputs on;
# those that $FUZZ names, if it names any. What it learns stays in
# fuzz/found/NAME, and an input that ends a fuzzer in fuzz/NAME-crash-*.
set -eu

source=$1
command -v clang >/dev/null || {
	echo "make fuzz: clang is missing: install clang and libclang-rt-dev" >&2
	exit 1
}
mkdir -p fuzz
cd fuzz
[ -f Makefile ] || "$source/configure" -q CC=clang CXX=clang++ \
	CFLAGS='-g -O1' --enable-fuzzing --disable-probes >/dev/null
make -s -j2 fuzzers >built
failed=
searched=0
for program in $(tail -n 1 built); do
	name=${program##*/fuzz-}
	case " ${FUZZ:-$name} " in
	*" $name "*) ;;
	*) continue ;;
	esac
	mkdir -p "found/$name"
	echo "fuzz: $name searches for $FUZZ_S s, output in fuzz/$name.log"
	"./$program" -max_total_time="$FUZZ_S" -max_len=16384 -timeout=60 \
		-rss_limit_mb=4096 -artifact_prefix="$name-" \
		-print_final_stats=1 "found/$name" \
		"$source/tests/fuzz/corpus/$name" >"$name.log" 2>&1 ||
		failed="$failed $name"
	searched=$((searched + 1))
	sed -n 's/^stat::number_of_executed_units: */fuzz: inputs tried: /p' \
		"$name.log"
done
[ "$searched" -gt 0 ] || { echo "fuzz: no fuzzer is called $FUZZ" >&2; exit 1; }
[ -z "$failed" ] || { echo "fuzz: failed:$failed" >&2; exit 1; }
