# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the tests of engines share; sourced after lib.sh and workdir.
#
#   build NAME FILE FLAG...  build an engine, $WORK/NAME.so, from a file here
#   engines              the values of KONFISCATOR_ENGINE to be tested, one a
#                        line: those of engines.def, and the two from outside

build() {
	kf_so=$WORK/$1.so
	kf_c=$top_srcdir/tests/engine/$2
	shift 2
	compile -shared -fPIC -O2 -Wall -Werror "$@" \
		-I"$top_srcdir/include" -o "$kf_so" "$kf_c" -lpthread ||
		fail "$kf_c cannot be built"
}

engines() {
	engine_names
	build example example.c
	build outside outside.c
	echo "$WORK/example.so"
	echo "$WORK/outside.so"
}
