#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# aarch64.sh SOURCE: builds the library of SOURCE for aarch64 in ./aarch64 with
# Debian's cross compiler, and runs the contract of malloc and random
# operations on it under qemu, with pages of 4 KiB and of 64 KiB, and with pages
# of 4 KiB the guards of samples.
#
# The tools are not built: their libraries would have to be there for aarch64.
set -eu

source=$1
need() {
	command -v "$1" >/dev/null || {
		echo "make check-aarch64: $1 is missing: install $2" >&2
		exit 1
	}
}
need aarch64-linux-gnu-gcc "gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"
need qemu-aarch64 qemu-user
root=/usr/aarch64-linux-gnu

mkdir -p aarch64
cd aarch64
[ -f Makefile ] || "$source/configure" -q --host=aarch64-linux-gnu \
	CC=aarch64-linux-gnu-gcc \
	--without-exporter --disable-probes CFLAGS='-g -O2' CXX=false \
	JANSSON_CFLAGS=' ' JANSSON_LIBS=' ' LIBELF_CFLAGS=' ' LIBELF_LIBS=' ' \
	LIBDW_CFLAGS=' ' LIBDW_LIBS=' ' ZLIB_CFLAGS=' ' ZLIB_LIBS=' ' \
	PROTOBUF_C_CFLAGS=' ' PROTOBUF_C_LIBS=' ' CHECK_CFLAGS=' ' \
	CHECK_LIBS=' ' ac_cv_header_libiberty_demangle_h=yes >/dev/null
# shellcheck disable=SC2086 # a list
make -s -j2 libkonfiscator.la tests/conformance/plugin.la \
	tests/conformance/conformance tests/random/random \
	tests/guarded/faulty tests/guarded/handlers tests/guarded/blocked

# under PAGE PROGRAM...: in qemu, with pages of so many bytes.
under() {
	page=$1
	shift
	timeout -k 5 300 qemu-aarch64 -p "$page" -L "$root" \
		-E KONFISCATOR_STATS=0 \
		-E LD_PRELOAD="$PWD/.libs/libkonfiscator.so" "$@"
}

# What qemu's user mode cannot show: programs that are started run without it,
# limits hold for it too, it has no seccomp, and it has a thread of its own. What
# it translates is memory of the program: some MiB with a thread and a heap.
beyond='max_map_count|address_space|_mib_|small_limit|limited_to|rlimit_as'
beyond="$beyond|starts_no_thread|posix_spawn|no_new_privileges|_constructor"
beyond="$beyond|ifunc|before_the_first_malloc|cxx_library|converters|bars_all_calls"
beyond="$beyond|locked_memory_is_used_up|what_another_thread_left"

# Between its blocks few such pages are whole.
beyond_large='malloc_trim_returns'

# Each case by itself, as the program starts itself anew otherwise. A case that
# an assertion of the emulator itself ends shows nothing.
contract() {
	failed=0 passed=0 skipped=0 without=$beyond
	[ "$1" -eq 4096 ] || without="$beyond|$beyond_large"
	for name in $(under "$1" tests/conformance/conformance --list |
		grep -Ev "$without"); do
		if under "$1" tests/conformance/conformance --case "$name" \
			>out.txt 2>&1; then
			passed=$((passed + 1))
		elif grep -q 'accel/tcg/.*: assertion failed' out.txt; then
			echo "SKIP: $name: $(tail -n 1 out.txt)"
			skipped=$((skipped + 1))
		else
			echo "FAIL: $name: $(tail -n 1 out.txt)"
			failed=$((failed + 1))
		fi
	done
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 100 ]
}

guarded() {
	under 4096 -E KONFISCATOR_SAMPLE=4K -E KONFISCATOR_GUARD_SLOTS=16 \
		-E KONFISCATOR_GUARD_RATE=0 "$@"
}

# found WORDS KIND SIZE DISTANCE: the program reaches its end, after reports
found() {
	guarded tests/guarded/faulty "$2" "$3" 2000 "$4" >out.txt 2>err.txt || {
		echo "FAIL: faulty $2: $(tail -n 1 err.txt)"
		return 1
	}
	if [ "$(cat out.txt)" != "2000 done" ] ||
		! grep -q "^konfiscator: $1" err.txt; then
		echo "FAIL: faulty $2: no $1 in: $(head -n 1 err.txt)"
		return 1
	fi
}

# What a program has as the action for SIGSEGV, it has with guards too; a fault
# in a guard is found whoever blocks the signal.
guards() {
	found 'use after free' after-free-read 64 1 &&
		found 'use after free' after-free-write 64 1 &&
		found overflow overflow-read 64 1 &&
		found overflow overflow-write 20 1 &&
		found underflow underflow-read 64 1 || return 1
	timeout -k 5 300 qemu-aarch64 -L "$root" tests/guarded/handlers \
		>without.txt 2>err.txt
	guarded tests/guarded/handlers >out.txt 2>err.txt
	diff -u without.txt out.txt || return 1
	! grep '^konfiscator' err.txt || return 1
	guarded tests/guarded/blocked >out.txt 2>err.txt || return 1
	[ "$(grep -c '^konfiscator: use after free' err.txt)" -ge 20 ]
}

for page in 4096 65536; do
	echo "aarch64: pages of $page bytes: random operations"
	under "$page" tests/random/random --threads 4 --operations 100000
	echo "aarch64: pages of $page bytes: the contract of malloc"
	contract "$page"
done
echo "aarch64: pages of 4096 bytes: guarded samples"
guards
