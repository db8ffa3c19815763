#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Two builds of a release are equal byte for byte: library, programs, manuals and
# all else that is installed; and so are two releases.
#
#	reproducible.sh RELEASE
#
# The builds, each in its source, differ in directory, locale, time zone, umask, name
# and home of the user, and as root the user itself; the second begins later. A
# source that has the date compiled in is an error. The second build packs the
# release again. In ./reproducible.
set -eu

say() {
	printf 'check-reproducible: %s\n' "$*"
}
fail() {
	say "FAIL: $*" >&2
	exit 1
}

# build SOURCE: configure, make and install into SOURCE.root. The path of the build
# is cut off in the debug information, as dpkg and rpm have it.
build() {
	cd "$1"
	map=-ffile-prefix-map=$1=.
	./configure -q --prefix=/usr CC="$CC" \
		CFLAGS="-g -O2 -Werror=date-time $map" \
		CXXFLAGS="-g -O2 $map" >"$1.log" 2>&1 &&
		"$MAKE" -s -j"$(nproc)" >>"$1.log" 2>&1 &&
		"$MAKE" -s install DESTDIR="$1.root" >>"$1.log" 2>&1
}

# The second build, in a process of its own.
if [ "$1" = --second ]; then
	umask 077
	export LC_ALL=C.UTF-8 TZ=Asia/Tokyo USER=other LOGNAME=other \
		HOME=/nonexistent
	build "$2"
	"$MAKE" -s dist >>"$2.log" 2>&1
	exit
fi

release=$PWD/$1
top=$PWD/reproducible
one=$top/one
two=$top/two/deeper/source

unpack() {
	mkdir -p "$1"
	tar -xf "$release" -C "$1" --strip-components=1
}
broken() {
	tail -n 20 "$1.log" >&2
	fail "the build in $1 failed"
}

rm -rf "$top"
unset CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS MFLAGS MAKELEVEL SOURCE_DATE_EPOCH
export CC MAKE CCACHE_DISABLE=1

unpack "$one"
(umask 022 && export LC_ALL=C TZ=UTC && build "$one") || broken "$one"
unpack "$two"
user=
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups \
	test -r "$release" 2>/dev/null; then
	chown -R 65534 "$top/two"
	user="setpriv --reuid=65534 --clear-groups"
else
	say "both builds are of one user: no other one may read $release"
fi
$user sh "$0" --second "$two" || broken "$two"

# Links are compared, modes are not: the umask is the user's.
diff -r --no-dereference "$one.root" "$two.root" >"$top/differences" ||
	fail "the builds differ: $(cat "$top/differences")"
for name in lib/libkonfiscator.so.1 bin/konfiscator \
	share/man/man1/konfiscator.1; do
	[ -s "$one.root/usr/$name" ] || fail "there is no $name"
done
cmp "$release" "$two/${release##*/}" || fail "the releases differ"
say "$(find "$one.root" -type f | wc -l) files and the release are the same"
say "$(sha256sum "$release" | cut -d ' ' -f 1)  ${release##*/}"
