#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The packages of ./rpm have the files of Debian's packages, each in the package of
# the same role; rpm installs them into a root and finds every file as it was
# packed, and the command works from there. For `make check-rpm`, which makes the
# packages first.
. "${top_srcdir:?}/tests/lib.sh"

workdir
need rpm
rpms=$top_builddir/rpm/RPMS/$(uname -m)
ls "$rpms"/*.rpm >/dev/null || fail "there are no packages in ./rpm"
debian=$top_srcdir/packaging/debian

# rpm_of DEB: the file of the package that has its role
rpm_of() {
	case $1 in
	libkonfiscator-dev) name=libkonfiscator-devel ;;
	*) name=$1 ;;
	esac
	found=$(find "$rpms" -name "$name-[0-9]*.rpm")
	[ -f "$found" ] || fail "there is not one package $name: $found"
	echo "$found"
}

# The paths of an rpm as Debian has them, without what each kind adds itself.
debian_paths() {
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$1" 2>/dev/null |
		awk '!/^d/ { print substr($0, index($0, " /") + 2) }' |
		grep -v -e '^usr/share/licenses/' -e '^usr/lib/\.build-id' |
		sed -e 's,^usr/lib64/,usr/lib/ARCH/,' \
			-e 's,^usr/lib/systemd/,lib/systemd/,' \
			-e 's,zsh/site-functions,zsh/vendor-completions,'
}

# The patterns of a deb: what its list has, and what debian/rules adds to it.
patterns() {
	sed -e '/^#/d' -e 's,^packaging/systemd/\([^ ]*\) \(.*\),\2/\1,' \
		-e 's,^usr/lib/\*/,usr/lib/ARCH/,' "$debian/$1.install"
	if [ "$1" = konfiscator ]; then
		echo usr/lib/sysusers.d/konfiscator.conf
		echo usr/lib/tmpfiles.d/konfiscator.conf
	fi
}

debs=$(sed -n 's/^Package: //p' "$debian/control.in")
equal "packages" "$(echo "$debs" | wc -l)" \
	"$(find "$rpms" -name '*.rpm' | wc -l)"
for deb in $debs; do
	patterns "$deb" | sed "s,$, $deb,"
done >"$WORK/patterns"
for deb in $debs; do
	debian_paths "$(rpm_of "$deb")" | sed "s,$, $deb,"
done >"$WORK/paths"
[ "$(wc -l <"$WORK/paths")" -gt 50 ] || fail "too few files: $(cat "$WORK/paths")"

# Each file is what the longest pattern for it says; each pattern has a file.
: >"$WORK/used"
while read -r path deb; do
	best=
	while read -r pattern owner; do
		# shellcheck disable=SC2254 # they are patterns
		case $path in
		$pattern | $pattern/*)
			[ "${#pattern}" -le "${#best}" ] || {
				best=$pattern
				of=$owner
			}
			;;
		esac
	done <"$WORK/patterns"
	[ -n "$best" ] || fail "$path is in no deb, but in the rpm of $deb"
	equal "the package of $path" "$of" "$deb"
	echo "$best $of" >>"$WORK/used"
done <"$WORK/paths"
sort -u "$WORK/used" >"$WORK/used.sorted"
sort -u "$WORK/patterns" >"$WORK/patterns.sorted"
equal "what only debs have" "" \
	"$(comm -13 "$WORK/used.sorted" "$WORK/patterns.sorted")"

# What each needs of the others, at the same version.
version=$(sed -n 's/^AC_INIT(\[konfiscator\], \[\([^]]*\).*/\1/p' \
	"$top_srcdir/configure.ac")
for deb in $debs; do
	equal "the version of $deb" "$version" \
		"$(rpm -qp --qf '%{VERSION}' "$(rpm_of "$deb")" 2>/dev/null)"
done
needs_of() {
	rpm -qp --requires "$(rpm_of "$1")" 2>/dev/null
}
needs_of konfiscator | grep -q "^libkonfiscator1.* = $version-" ||
	fail "the command does not need its library"
needs_of prometheus-konfiscator-exporter |
	grep -q "^konfiscator.* = $version-" ||
	fail "the exporter does not need the command"

# Installed, without the scripts, which would need a shell in the root.
root=$WORK/root
mkdir "$root"
rpm --root "$root" --initdb
rpm --root "$root" -i --nodeps --noscripts "$rpms"/*.rpm 2>"$WORK/err" ||
	fail "rpm -i: $(cat "$WORK/err")"
# owners that this machine has not are not compared
rpm --root "$root" -Va --nodeps --noscripts >"$WORK/changed" 2>&1 ||
	fail "not as packed: $(cat "$WORK/changed")"
equal "the version of the command" "konfiscator $version" \
	"$("$root/usr/bin/konfiscator" --version | head -n 1)"
library=$root/usr/lib64/libkonfiscator.so.1
[ -f "$library" ] || fail "there is no $library"
KONFISCATOR_LIBRARY=$library "$root/usr/bin/konfiscator" run -- \
	sort /etc/passwd >"$WORK/sorted" || fail "run: $(cat "$WORK/sorted")"
"$root/usr/bin/konfiscator" --dir="$WORK/stats" --format=csv stat -a -n sort \
	>"$WORK/stat"
grep -q '^sort,' "$WORK/stat" || fail "stat: $(cat "$WORK/stat")"
strings -a "$root/usr/bin/konfiscator" | grep -qx \
	/usr/lib64/libkonfiscator.so.1 ||
	fail "the command looks for its library elsewhere"
