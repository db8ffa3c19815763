#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# systemd accepts the units, the user and the directory, and rates what is left
# open to the service; all may create files in the directory, its group lists it.
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
for kind in service socket; do
	sed "s,^ExecStart=[^ ]*,ExecStart=/bin/true,; /^Documentation=/d" \
		"$files/konfiscator_exporter.$kind" >"${unit%service}$kind"
done
systemd-analyze verify "$unit" "${unit%service}socket" >"$WORK/said" 2>&1 ||
	fail "systemd-analyze: $(cat "$WORK/said")"
if grep -F konfiscator_exporter "$WORK/said"; then
	fail "systemd-analyze has something to say"
fi
# In tenths; with nothing in the unit it is 96.
systemd-analyze security --offline=true --threshold=20 "$unit" \
	>"$WORK/said" 2>&1 || fail "exposed: $(tail -n 1 "$WORK/said")"

systemd-sysusers --root="$root" konfiscator.conf
grep -q '^konfiscator:' "$root/etc/passwd" || fail "no user was made"
grep -q '^konfiscator:' "$root/etc/group" || fail "no group was made"
[ "$(id -u)" -eq 0 ] || skip "only root can make root's directory"
systemd-tmpfiles --root="$root" --create konfiscator.conf
equal "mode of the directory" 3773 "$(stat -c %a "$root/run/konfiscator")"
gid=$(sed -n 's/^konfiscator:[^:]*:\([0-9]*\).*/\1/p' "$root/etc/group")
equal "group of the directory" "$gid" "$(stat -c %g "$root/run/konfiscator")"
