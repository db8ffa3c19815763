#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stats file that names the process of another user than its owner is told,
# and is never that process', whatever else is there.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs setpriv util-linux
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"

# Of numbers that no other user of this machine has.
user=$((1000000000 + $$))
setpriv --reuid "$user" true 2>/dev/null || skip "only root can run this"

# forge FILE KEY=VALUE...: of process $pid, by the user
forge() {
	forged=$WORK/stats/$1
	shift
	mkstats "$forged" pid="$pid" "$@" uid="$user"
	chown "$user" "$forged"
}

refused() {
	says "conflict: the file belongs to user $user, but names process $pid of another"
}

# A process of root's, with the library, and a newer file that names it.
LD_PRELOAD=$KF_PRELOAD sleep 1000 >/dev/null 2>&1 &
pid=$!
at_exit "kill $pid 2>/dev/null"
wait_for 60 is_sleep || fail "sleep did not start"
real() {
	set -- "$WORK/stats/sleep.$pid."*
	file=$1
	[ -e "$file" ]
}
wait_for 60 real || fail "the process has no stats file"
forge a blocks=16:777777:0 created=4000000000000000000
forge "sleep.$pid.zz" blocks=16:777777:0 created=4000000000000000000

expect 0 cli ls
refused
says "1 more files are in conflict"
grep -F "$WORK/stats/a" "$WORK/out" | grep -q conflict || fail "ls says no conflict"
grep -F "$file" "$WORK/out" | grep -q alive || fail "the real file is not alive"

for command in "stat -p $pid" "stat -a -p $pid" "explain --watch 0 -p $pid" \
	"tags -p $pid" "events -p $pid" "top --batch 1 -p $pid"; do
	# shellcheck disable=SC2086
	status_of cli $command >"$WORK/status"
	refused
	if grep -q 777 "$WORK/out"; then
		cat "$WORK/out"
		fail "$command shows the forged file"
	fi
done

cksum "$WORK/stats/a" "$WORK/stats/sleep.$pid.zz" >"$WORK/before"
status_of cli ctl --timeout 1 "$pid" sample=0 >"$WORK/status"
refused
cksum "$WORK/stats/a" "$WORK/stats/sleep.$pid.zz" >"$WORK/after"
cmp "$WORK/before" "$WORK/after" || fail "the forged file was given an order"

expect 0 cli prune
[ -e "$file" ] || fail "the file of a living process was deleted"
[ -e "$forged" ] || fail "a file in conflict was deleted"

# Without the real one there is none.
rm "$file"
expect 3 cli stat -p "$pid"
expect 3 cli ctl "$pid" sample=0
refused
expect 3 cli record --duration 1 -p "$pid" -o "$WORK/profile"
refused

# A user's own process is the user's to speak for.
setpriv --reuid "$user" sleep 1000 >/dev/null 2>&1 &
pid=$!
at_exit "kill $pid 2>/dev/null"
wait_for 60 is_sleep || fail "sleep did not start"
rm -r "$WORK/stats"
mkdir "$WORK/stats"
forge a blocks=16:10:0
expect 0 cli stat -p "$pid"
[ ! -s "$WORK/err" ] || fail "a user's own file is told: $(cat "$WORK/err")"
