#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# aarch64.sh SOURCE: builds the library of SOURCE for aarch64 in ./aarch64 with
# Debian's cross compiler, and runs the contract of malloc and random
# operations on it under qemu, with pages of 4 KiB and of 64 KiB.
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
programs="tests/conformance/conformance tests/random/random
	tests/threads/threads"
# shellcheck disable=SC2086 # a list
make -s -j2 libkonfiscator.la $programs

# under PAGE PROGRAM...: in qemu, with pages of so many bytes.
under() {
	page=$1
	shift
	qemu-aarch64 -p "$page" -L "$root" -E KONFISCATOR_STATS=0 \
		-E LD_PRELOAD="$PWD/.libs/libkonfiscator.so" "$@"
}

for page in 4096 65536; do
	echo "aarch64: pages of $page bytes: the contract of malloc"
	under "$page" tests/conformance/conformance
	echo "aarch64: pages of $page bytes: random operations"
	under "$page" tests/random/random --threads 4 --operations 100000
done
