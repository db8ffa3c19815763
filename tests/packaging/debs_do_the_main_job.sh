#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# In a clean Debian the packages of ./deb install and do what they are for: a
# program is run and counted, its memory shown, served and drawn, by the
# service's user with the service's rights; nothing of them stays behind. For
# `make check-deb`, which makes the packages first.
# limit: 3000
. "${top_srcdir:?}/tests/lib.sh"
. "$top_srcdir/tests/packaging/base.sh"

[ "$(id -u)" -eq 0 ] || skip "only root can make a root file system"
if [ -z "${KF_PRIVATE_MOUNTS:-}" ]; then
	unshare -m true 2>/dev/null || skip "unshare -m is not permitted"
	KF_PRIVATE_MOUNTS=1 exec unshare -m "${SHELL:-/bin/sh}" "$0"
fi
workdir
need curl setpriv chromium chromedriver
clean_debian
ls "$top_builddir"/deb/*.deb >/dev/null || fail "there are no packages in ./deb"

root=$WORK/root
cp -a "$base" "$root"
mkdir "$root/debs"
cp "$top_builddir"/deb/*.deb "$root/debs/"
rm -f "$root"/debs/*-dbgsym_*
mount --bind /proc "$root/proc"
at_exit "umount -l '$root/proc'"
cp /etc/resolv.conf "$root/etc/"

# inside_exec COMMAND ARG...: in the background, its $! is the command's.
inside_exec() {
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive MANWIDTH=80 \
		chroot "$root" "$@"
}

inside() {
	(inside_exec "$@")
}

# as USER COMMAND ARG..., and in the background
as_exec() {
	as_user=$1
	shift
	inside_exec setpriv --reuid "$as_user" --regid nogroup --clear-groups \
		"$@"
}

as() {
	(as_exec "$@")
}

inside apt-get -qq update
inside sh -c 'apt-get -qq -y --no-install-recommends install \
	man-db /debs/*.deb' >"$WORK/apt" 2>&1 ||
	fail "they do not install: $(tail -n 20 "$WORK/apt")"
# shellcheck disable=SC2016 # the inner shell's
packages=$(inside sh -c 'cd /debs && for f in *.deb; do
	dpkg-deb -f "$f" Package; done')
# shellcheck disable=SC2086
inside dpkg -L $packages >"$WORK/files"

# A program, and what is known of it after its end.
as nobody konfiscator run -- sort /etc/passwd >"$WORK/sorted" \
	2>&1 || fail "run: $(cat "$WORK/sorted")"
equal "what sort prints" "$(inside sort /etc/passwd)" "$(cat "$WORK/sorted")"
inside konfiscator --format=csv stat -a -n sort >"$WORK/stat"
grep -q '^sort,' "$WORK/stat" || fail "stat: $(cat "$WORK/stat")"
equal "owner and mode of its file" "nobody konfiscator 640" \
	"$(inside sh -c 'stat -c "%U %G %a" /run/konfiscator/sort.*')"
if as daemon ls /run/konfiscator 2>/dev/null; then
	fail "anybody lists the directory"
fi
inside sh -c 'LD_PRELOAD=libkonfiscator.so.1 true' >"$WORK/out" 2>&1
equal "the loader by the library's bare name" "" "$(cat "$WORK/out")"
equal "environment of children under --no-children" "" \
	"$(inside konfiscator run --no-children -- env | grep LD_PRELOAD)"

# The service, as systemd would start it.
unit=$root/lib/systemd/system/konfiscator_exporter.service
setting() {
	sed -n "s/^$1=//p" "$unit"
}
equal "the service" enabled \
	"$(inside systemctl is-enabled konfiscator_exporter.service)"
equal "the socket" disabled \
	"$(inside systemctl is-enabled konfiscator_exporter.socket || :)"
inside systemd-analyze verify konfiscator_exporter.service \
	konfiscator_exporter.socket >"$WORK/verify" 2>&1 || :
if grep konfiscator_exporter "$WORK/verify"; then
	fail "systemd-analyze has something to say"
fi
inside install -d -o "$(setting User)" -g "$(setting Group)" -m 0750 \
	"/var/lib/$(setting StateDirectory)"
rights=$(setting AmbientCapabilities | tr 'A-Z ' 'a-z,' |
	sed 's/cap_/+/g; s/^/-all,/')
program=$(setting ExecStart)
as_exec nobody konfiscator run -- sleep 1000 &
at_exit "kill $! 2>/dev/null || :"
sleeper=$!
: >"$WORK/log"
inside_exec setpriv --reuid "$(setting User)" --regid "$(setting Group)" \
	--clear-groups --no-new-privs --inh-caps "$rights" \
	--ambient-caps "$rights" --bounding-set "$rights" \
	"${program%% *}" --web.listen-address=127.0.0.1:0 2>"$WORK/log" &
at_exit "kill $! 2>/dev/null || :"
wait_for 100 grep -q 'msg=listening' "$WORK/log" ||
	fail "the exporter: $(cat "$WORK/log")"
port=$(sed -n 's/.*listening.*127\.0\.0\.1:\([0-9]*\).*/\1/p' "$WORK/log")

# served EXPRESSION: a line of what is served matches.
served() {
	curl -s -o "$WORK/page" "http://127.0.0.1:$port/metrics" &&
		grep -Eq "$1" "$WORK/page"
}
wait_for 100 served '^konfiscator_processes\{.*"sleep".*\} 1$' ||
	fail "sleep is not served: $(grep sleep "$WORK/page")"
"$PYTHON3" "$top_srcdir/tests/packaging/charts_are_drawn.py" \
	"http://127.0.0.1:$port" || fail "the pages have no charts"
kill "$sleeper"
wait "$sleeper" || :
gone() {
	served '^konfiscator_malloc_total\{.*"sleep".*\} [1-9]' &&
		! ls "$root"/run/konfiscator/sleep.* >"$WORK/left" 2>&1
}
wait_for 100 gone || fail "the file of an ended process stays, or its counts"
served '^konfiscator_malloc_total\{.*"sort".*\} [1-9]' ||
	fail "sort is not served"

for page in "1 konfiscator" "7 konfiscator" "7 konfiscator_probes" \
	"8 konfiscator_exporter"; do
	# shellcheck disable=SC2086
	inside man $page >"$WORK/page" 2>&1 || fail "man $page: $(cat "$WORK/page")"
	grep -q '^NAME' "$WORK/page" || fail "man $page shows nothing"
done
compile -fsyntax-only -I"$root/usr/include" -x c - <<'END'
#include <konfiscator.h>
#include <konfiscator-engine.h>
END

# shellcheck disable=SC2086
inside apt-get -qq -y purge $packages >"$WORK/apt" 2>&1 ||
	fail "they do not go: $(tail -n 20 "$WORK/apt")"
while IFS= read -r file; do
	[ -d "$root$file" ] || [ ! -e "$root$file" ] || fail "$file stays"
done <"$WORK/files"
