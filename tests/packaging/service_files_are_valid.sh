#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# systemd accepts the unit, the user and the directory, and makes the directory
# in which all may create and none may list.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

files=$top_srcdir/packaging/systemd
need systemd-analyze systemd-sysusers systemd-tmpfiles
root=$WORK/root
mkdir -p "$root/etc" "$root/run" "$root/usr/lib/sysusers.d" \
	"$root/usr/lib/tmpfiles.d" "$root/usr/bin"
cp "$files/konfiscator.sysusers" "$root/usr/lib/sysusers.d/konfiscator.conf"
cp "$files/konfiscator.tmpfiles" "$root/usr/lib/tmpfiles.d/konfiscator.conf"

# Only the path of the program and of the manual is not there yet.
unit=$WORK/konfiscator_exporter.service
sed "s,^ExecStart=[^ ]*,ExecStart=/bin/true,; /^Documentation=/d" \
	"$files/konfiscator_exporter.service" >"$unit"
systemd-analyze verify "$unit" >"$WORK/said" 2>&1 ||
	fail "systemd-analyze: $(cat "$WORK/said")"
if grep -F konfiscator_exporter "$WORK/said"; then
	fail "systemd-analyze has something to say"
fi

systemd-sysusers --root="$root" konfiscator.conf
grep -q '^konfiscator:' "$root/etc/passwd" || fail "no user was made"
grep -q '^konfiscator:' "$root/etc/group" || fail "no group was made"
[ "$(id -u)" -eq 0 ] || skip "only root can make root's directory"
systemd-tmpfiles --root="$root" --create konfiscator.conf
equal "mode of the directory" 3733 "$(stat -c %a "$root/run/konfiscator")"
gid=$(sed -n 's/^konfiscator:[^:]*:\([0-9]*\).*/\1/p' "$root/etc/group")
equal "group of the directory" "$gid" "$(stat -c %g "$root/run/konfiscator")"
