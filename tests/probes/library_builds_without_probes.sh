#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With the headers of --disable-probes the library builds where sys/sdt.h is
# missing, holds no note of a probe, and works.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need readelf
workdir

mkdir -p "$WORK/build/probes" "$WORK/build/sys"
generate header-stub >"$WORK/build/probes/konfiscator-probes.h"
generate percall-stub >"$WORK/build/probes/konfiscator-percall.h"
echo '#error "sys/sdt.h is not to be needed"' >"$WORK/build/sys/sdt.h"
sed 's/^#define KF_PROBES 1/#undef KF_PROBES/' "$top_builddir/config.h" \
	>"$WORK/build/config.h"

# Those that readers and commands are made of are not in the library.
layers=$(sed -n 's,^src/\([a-z]*\).*,\1,p' "$top_srcdir/tests/lint/layers.txt" |
	grep -vx 'reader\|cli')
set --
for layer in $layers; do
	for source in "$top_srcdir/src/$layer"/*.c; do
		[ ! -e "$source" ] || set -- "$@" "$source"
	done
done
[ $# -ge 7 ] || fail "found $# sources under src"

# The flags are the library's, in the words of a shell, and begin at the top of
# the build tree; the headers made above come before those that it has.
cd "$top_builddir"
flags=$(cat tests/probes/library-flags)
eval "set -- $flags \"\$@\""
${CC:-cc} -iquote "$WORK/build" -I"$WORK/build" "$@" -O1 -shared -pthread \
	-Wl,--version-script="$top_srcdir/src/abi/konfiscator.map" \
	-o "$WORK/libkonfiscator.so"

if notes "$WORK/libkonfiscator.so" | grep .; then
	fail "notes of probes in a library without"
fi
notes "$KF_LIB" >"$WORK/notes"
if grep -q '^#define KF_PROBES 1' "$top_builddir/config.h"; then
	[ -s "$WORK/notes" ] || fail "no notes even in a library with probes"
fi
equal "a program on it" works \
	"$(env LD_PRELOAD="$WORK/libkonfiscator.so" sh -c 'echo works')"
[ -n "$(ls "$WORK/stats")" ] || fail "the program did not run on the library"
