#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program with the header runs alone, under the library and statically linked:
# C11 and C++17, gcc and clang; by gcc without position independent code too,
# and with the flags that pkg-config has.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc gcc
needs g++ g++
workdir

here=$top_srcdir/tests/tags
alone='no library, limit 0, nothing written'
under='1 malloc, limit 256, written'
cp "$here/header.c" "$WORK/header.cc"
built=0

# try COMPILER SOURCE FLAG...
try() {
	name="$*"
	compiler=$1
	source=$2
	shift 2
	"$compiler" -Wall -Wextra -Werror -pedantic -Wno-variadic-macros \
		-I"$top_srcdir/include" "$@" -o "$WORK/header" "$source" ||
		fail "$name does not compile"
	built=$((built + 1))
	equal "$name, alone" "$alone" "$("$WORK/header")"
	case $name in
	*-static*) want=$alone ;;
	*) want=$under ;;
	esac
	equal "$name, under the library" "$want" "$(run_under "$WORK/header")"
}

for compiler in gcc clang; do
	command -v "$compiler" >/dev/null || continue
	[ "$compiler" = clang ] ||
		try gcc "$here/header.c" -std=c11 -O2 -no-pie -fno-pie
	for flags in -O0 "-O2 -fvisibility=hidden" "-O2 -static"; do
		# Flags are words.
		# shellcheck disable=SC2086
		try "$compiler" "$here/header.c" -std=c11 $flags
	done
done
for compiler in g++ clang++; do
	command -v "$compiler" >/dev/null || continue
	for flags in -O0 "-O2 -fvisibility=hidden" "-O2 -static"; do
		# shellcheck disable=SC2086
		try "$compiler" "$WORK/header.cc" -std=c++17 $flags
	done
done

if command -v pkg-config >/dev/null; then
	mkdir "$WORK/include"
	cp "$top_srcdir/include/konfiscator.h" "$WORK/include"
	PKG_CONFIG_PATH=${top_builddir:?}/include
	export PKG_CONFIG_PATH
	# asked OPTION: what konfiscator.pc says, of the header in $WORK.
	asked() {
		pkg-config --define-variable=includedir="$WORK/include" "$1" \
			konfiscator
	}
	equal "libraries" "" "$(asked --libs | tr -d ' ')"
	equal "flags" "-I$WORK/include" "$(asked --cflags | tr -d ' ')"
	cp "$here/header.c" "$WORK/elsewhere.c"
	# shellcheck disable=SC2046
	gcc -o "$WORK/header" "$WORK/elsewhere.c" $(asked --cflags) ||
		fail "the flags of pkg-config do not do"
	equal "pkg-config, alone" "$alone" "$("$WORK/header")"
	equal "pkg-config, under the library" "$under" \
		"$(run_under "$WORK/header")"
fi
[ "$built" -ge 7 ] || fail "only $built programs were built"
