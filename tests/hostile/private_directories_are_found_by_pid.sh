#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A process that has a /tmp of its own, as under systemd's PrivateTmp, or a
# KONFISCATOR_DIR that nobody told, is found by its number; a link in its root
# leads nowhere else, and another user's file in its directory is not its own.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
workdir
[ "$(id -u)" -eq 0 ] || skip "only root may look into other mount namespaces"
needs unshare util-linux
# Elsewhere, so that only the process itself leads there.
dir=$WORK/own
mkdir -m 0700 "$dir" "$WORK/private"
unset KONFISCATOR_DIR
unshare -m true 2>/dev/null || skip "no mount namespaces here"

is_ready() {
	grep -q ready "$WORK/ready"
}

# begin CMD...: it runs $PYTHON3, which allocates until it is killed; $pid
begin() {
	: >"$WORK/ready"
	"$@" env LD_PRELOAD="$KF_PRELOAD" KONFISCATOR_DIR="$dir" \
		"$PYTHON3" -c '
import time
print("ready", flush=True)
while True:
    b = [bytearray(1000) for i in range(1000)]
    time.sleep(0.01)' >"$WORK/ready" &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	wait_for 60 is_ready || fail "the program did not start"
}

# seen WHAT: by each command
seen() {
	for command in stat ls 'explain --watch=0' 'tags' 'events'; do
		# shellcheck disable=SC2086 # words
		"$KF_CLI" $command -p "$pid" >"$WORK/out" 2>&1 ||
			fail "$1: $command: $(cat "$WORK/out")"
	done
	"$KF_CLI" --format=json stat -p "$pid" >"$WORK/out"
	grep -q '"processes": 1' "$WORK/out" ||
		fail "$1: stat has another number: $(cat "$WORK/out")"
	"$KF_CLI" ctl "$pid" sample=64K >"$WORK/out" 2>&1 ||
		fail "$1: ctl: $(cat "$WORK/out")"
	"$KF_CLI" record -p "$pid" -o "$WORK/profile" --duration 0.5 \
		>"$WORK/out" 2>&1 || fail "$1: record: $(cat "$WORK/out")"
	[ -s "$WORK/profile" ] || fail "$1: the profile is empty"
	rm "$WORK/profile"
}

begin exec
seen "a directory of its own"
expect_none() {
	! "$KF_CLI" --dir="$WORK" stat -p "$pid" >"$WORK/out" 2>&1 ||
		fail "a directory that is named is not the only one"
}
expect_none
kill -9 "$pid"

# shellcheck disable=SC2016 # that shell's
begin unshare -m sh -c 'mount -t tmpfs -o mode=0700 none "$1" && shift &&
	exec "$@"' sh "$dir"
[ -z "$(find "$dir" -name "python3*.$pid.*")" ] || fail "its mount is seen here"
seen "a mount of its own"
"$KF_CLI" ls -p "$pid" | grep -q "/proc/$pid/root/" ||
	fail "ls does not say that the directory is elsewhere"

# In its directory there: a file that another user made for it is none.
theirs=/proc/$pid/root$dir
file=$(find "$theirs/" -name "*.$pid.*")
cp "$file" "$theirs/python3.$pid.77"
chown 23456 "$theirs/python3.$pid.77"
"$KF_CLI" --format=json stat -p "$pid" >"$WORK/out" 2>"$WORK/err"
grep -q '"processes": 1' "$WORK/out" || fail "a forged file counts"
grep -q "conflict" "$WORK/err" || fail "a forged file is not told"
kill -9 "$pid"

# Its root is elsewhere in its namespace, too.
mkdir "$WORK/root"
# shellcheck disable=SC2016 # that shell's
begin unshare -m sh -c 'mount --rbind / "$1" &&
	mount -t tmpfs -o mode=0700 none "$1$2" && root=$1 && shift 2 &&
	exec chroot "$root" "$@"' sh "$WORK/root" "$dir"
[ -z "$(find "$dir" -name "python3*.$pid.*")" ] || fail "its root is seen here"
seen "a root of its own"
kill -9 "$pid"

# A process that is not under the library, and one that is not there.
for none in $$ 999999999; do
	! "$KF_CLI" stat -p "$none" >"$WORK/out" 2>&1 || fail "there is a $none"
done
