#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Where a library before this one, or the program itself, has malloc and free but
# not all names of the family, the others take and give that malloc's blocks. Real
# allocators and one of the least names, before the library and behind it, with
# each engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
needs g++ g++

src=$top_srcdir/tests/preload
flags="-std=c++17 -O1 -fno-builtin -Wno-deprecated-declarations -w"
build() {
	# shellcheck disable=SC2086
	${CXX:-g++} $flags "$@"
}
build -o "$WORK/names" "$src/names.cc" -ldl
build -o "$WORK/own" "$src/names.cc" "$src/own.cc" -ldl
build -DALIGNED -o "$WORK/own-aligned" "$src/names.cc" "$src/own.cc" -ldl
build -fPIC -shared -o "$WORK/libown.so" "$src/own.cc"
build -fPIC -shared -DALIGNED -o "$WORK/libown-aligned.so" "$src/own.cc"

# served PRELOAD PROGRAM [aligned]
served() {
	preload=$1
	shift
	got=$(LD_PRELOAD=$preload timeout -k 9 60 "$@" 2>"$WORK/err") ||
		fail "status $? of $*, engine ${KONFISCATOR_ENGINE-} under \
$preload: $(cat "$WORK/err")"
	equal "$* under $preload" "all names served" "$got"
}

# Without the library first: what the C library does in its place.
served "" "$WORK/own"
for engine in $(engine_names); do
	export KONFISCATOR_ENGINE="$engine"
	served "$KF_PRELOAD" "$WORK/names" aligned
	served "$KF_PRELOAD" "$WORK/own"
	served "$KF_PRELOAD" "$WORK/own-aligned" aligned
	served "$WORK/libown.so:$KF_PRELOAD" "$WORK/names"
	served "$WORK/libown-aligned.so:$KF_PRELOAD" "$WORK/names" aligned
done
unset KONFISCATOR_ENGINE

# Electric Fence knows no other alignment than its own of 8, and takes a mapping
# for each block.
ran=0
for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 libefence.so.0; do
	path=$(find /usr/lib -name "$other" 2>/dev/null | head -n 1)
	[ -n "$path" ] || continue
	aligned=aligned
	[ "$other" != libefence.so.0 ] || aligned=
	for engine in $(engine_names); do
		export KONFISCATOR_ENGINE="$engine"
		# shellcheck disable=SC2086
		served "$path:$KF_PRELOAD" "$WORK/names" $aligned
		[ "$engine$other" != systemlibefence.so.0 ] || continue
		# shellcheck disable=SC2086
		served "$KF_PRELOAD:$path" "$WORK/names" $aligned
	done
	unset KONFISCATOR_ENGINE
	ran=$((ran + 1))
done
[ "$ran" -eq 3 ] || skip "one of libjemalloc2, libtcmalloc-minimal4 and \
electric-fence is missing"
