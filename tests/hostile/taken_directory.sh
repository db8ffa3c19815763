#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# In /tmp only a directory of the user's own is used.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can plant something for another user"
workdir
need setpriv
# Nobody's, so that the usual place is this test's.
user=$((1100000000 + $$))
usual=/tmp/konfiscator-stats-$user
at_exit "rm -rf '$usual'"
[ ! -d /run/konfiscator ] || skip "/run/konfiscator comes before /tmp here"
unset KONFISCATOR_DIR
mkdir -m 0777 "$WORK/elsewhere"
chmod 0777 "$WORK/elsewhere"
chmod 0755 "$WORK"
cp "$KF_LIB" "$WORK/libkonfiscator.so"
chmod 0755 "$WORK/libkonfiscator.so"

cp "$KF_CLI" "$WORK/konfiscator" 2>/dev/null
[ ! -e "${top_builddir:?}/.libs/konfiscator" ] ||
	cp "$top_builddir/.libs/konfiscator" "$WORK/konfiscator"
as_user() {
	kf_program=$WORK/$1
	shift
	env -u XDG_RUNTIME_DIR KONFISCATOR_LIBRARY="$WORK/libkonfiscator.so" \
		setpriv --reuid "$user" --regid "$user" --clear-groups \
		"$kf_program" "$@"
}

line() {
	env LD_PRELOAD="$WORK/libkonfiscator.so" KONFISCATOR_VERBOSE=1 \
		setpriv --reuid "$user" --regid "$user" --clear-groups \
		sh -c 'exit 0' 2>&1 | tail -n 1
}

case $(line) in
"konfiscator: stats file $usual/sh."*) ;;
*) fail "the usual directory is not used: $(line)" ;;
esac
equal "its mode and owner" "700 $user" "$(stat -c '%a %u' "$usual")"
rm -r "$usual"

for planted in link fifo file root open; do
	case $planted in
	link) ln -s "$WORK/elsewhere" "$usual" ;;
	fifo) mkfifo -m 0666 "$usual" ;;
	file) : >"$usual" ;;
	root) mkdir "$usual" && chmod 0777 "$usual" ;;
	open) mkdir "$usual" && chown "$user" "$usual" && chmod 0777 "$usual" ;;
	esac
	case $(line) in
	"konfiscator: no stats file: errno "[1-9]*": $usual/: it "*) ;;
	*) fail "$planted: $(line)" ;;
	esac
	# doctor finds that out as this user, and run tells it
	as_user konfiscator doctor >"$WORK/out" 2>&1 &&
		fail "$planted: doctor calls it good: $(cat "$WORK/out")"
	grep -q "^directory  *missing .*$usual/: it " "$WORK/out" ||
		fail "$planted: doctor says $(cat "$WORK/out")"
	as_user konfiscator run -- true >"$WORK/out" 2>&1 ||
		fail "$planted: run does not run"
	grep -q "^konfiscator: run: no stats file: $usual " "$WORK/out" ||
		fail "$planted: run says $(cat "$WORK/out")"
	equal "files behind the link" "" "$(ls "$WORK/elsewhere")"
	[ ! -d "$usual" ] || equal "files in it" "" "$(ls "$usual")"
	rm -r "$usual"
done
