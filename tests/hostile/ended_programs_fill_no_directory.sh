#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that ended leave their counts, each exactly once, and hardly a file:
# those that end well, children of a server, killed ones, those killed while
# their counts are added up, those that filter their system calls. What another
# user puts in the place of the ledger is not touched.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
bury_usual_dirs
unset KONFISCATOR_KEEP
stats=$KONFISCATOR_DIR
mount -t tmpfs -o size=8m,mode=1777 tmpfs "$stats"
at_exit "umount '$stats'"
ended=$top_builddir/tests/hostile/ended
ledgers=$top_builddir/tests/hostile/ledgers

counted() {
	"$ledgers" "$stats" ended
}

nr_files() {
	find "$stats" -name 'ended.*' | wc -l
}

# sum_is ENDS EXECS CALLS, of programs named ended since the last anew
sum_is() {
	equal "$4: ends, execs and calls" "$1 $2 $3" "$(counted)"
}

anew() {
	find "$stats" -mindepth 1 -delete
}

# What one run counts, before main and in it, by its file.
KONFISCATOR_KEEP=1 run_under "$ended" 100 exit
one=$("$KF_CLI" --dir "$stats" --format=json stat -a |
	sed -n 's/.*"mallocs": \([0-9]*\).*/\1/p' | head -n 1)
[ "$one" -ge 100 ] || fail "a run with 100 blocks counts $one"
sum_is 1 0 "$one" "file that was kept"
anew

i=0
while [ "$i" -lt 600 ]; do
	run_under "$ended" 100 exit
	i=$((i + 1))
done
sum_is 600 0 $((600 * one)) "600 runs"
equal "files of 600 runs" 0 "$(nr_files)"
[ "$(du -k "$stats" | cut -f 1)" -le 128 ] ||
	fail "600 runs leave $(du -k "$stats" | cut -f 1) KiB"
anew

# Many at a time have to take turns; a quarter of 8 MiB has 51 files.
i=0
while [ "$i" -lt 50 ]; do
	run_under_exec "$ended" 100 exit &
	i=$((i + 1))
done
wait
sum_is 50 0 $((50 * one)) "50 runs at a time"
anew

# Children count what they did themselves.
run_under "$ended" 100 fork 200
sum_is 201 0 $((one + 200 * 100)) "server with 200 children"
equal "files of a server" 0 "$(nr_files)"
anew

# exec ends a program without its knowing.
run_under sh -c "exec '$ended' 100 exit"
sum_is 1 0 "$one" "program after exec"
equal "shell before exec: ends and execs" "0 1" \
	"$("$ledgers" "$stats" sh | cut -d ' ' -f 1,2)"
equal "files of exec" 0 "$(find "$stats" -type f ! -name '.*' | wc -l)"
anew

# The killed are counted by those who come next; few of their files stay.
mkfifo "$WORK/input"
i=0
while [ "$i" -lt 20 ]; do
	run_under_exec "$ended" 100 wait <"$WORK/input" >"$WORK/out.$i" &
	pids="${pids-} $!"
	i=$((i + 1))
done
exec 7>"$WORK/input"
all_ready() {
	[ "$(cat "$WORK"/out.* | grep -c ready)" -eq 20 ]
}
wait_for 120 all_ready || fail "20 programs did not begin"
# shellcheck disable=SC2086
kill -9 $pids
wait
exec 7>&-
run_under true
run_under true
sum_is 20 0 $((20 * one)) "20 killed programs"
[ "$(nr_files)" -ge 1 ] || fail "no file of a killed program was kept"
[ $((40960 * $(nr_files))) -le $((8 * 1048576 / 100)) ] ||
	fail "$(nr_files) files of the killed stay: more than 1 % of 8 MiB"
anew

# Killed at any moment of the end: what was counted before is there, once.
i=0
while [ "$i" -lt 100 ]; do
	run_under_exec "$ended" 100 tell >"$WORK/told.$i" &
	pid=$!
	wait_for 120 test -s "$WORK/told.$i" || fail "no program began"
	kill -9 "$pid" 2>/dev/null || :
	wait "$pid" || :
	i=$((i + 1))
done
run_under true
run_under true
sum_is 100 0 $((100 * one)) "100 programs killed at their end"
anew

# On a large file system 256 files of the killed stay at most, and the oldest go
# first; where less than a tenth of it is free none stays.
mount -t tmpfs -o size=1100m,mode=1777 tmpfs "$stats"
killed() {
	find "$stats" -name 'sh.*'
}
kill_one() {
	run_under sh -c 'kill -9 $$' 2>/dev/null || :
}
kill_one
oldest=$(killed)
[ -n "$oldest" ] || fail "no file of a killed shell was kept"
i=0
while [ "$i" -lt 270 ]; do
	kill_one
	i=$((i + 1))
done
run_under true
nr=$(killed | wc -l)
[ "$nr" -le 256 ] || fail "$nr files of the killed stay"
[ "$nr" -ge 200 ] || fail "only $nr files of the killed stay"
[ ! -e "$oldest" ] || fail "the oldest of $nr files stays"
fallocate -l 1020m "$stats/full"
i=0
while [ "$i" -lt 40 ]; do
	run_under true
	i=$((i + 1))
done
equal "files of the killed where 7 % are free" 0 "$(killed | wc -l)"
equal "shells that were killed, counted" 271 \
	"$("$ledgers" "$stats" sh | cut -d ' ' -f 1)"
umount "$stats"

status=0
run_under "$ended" 100 filter || status=$?
case $status in
0) equal "filtered program left" 1 "$(nr_files)" ;;
77) echo "filters of system calls are not permitted here: left out" ;;
*) fail "a program that allows its end alone ends with status $status" ;;
esac
run_under true
[ "$status" -ne 0 ] || sum_is 1 0 "$one" "filtered program"
anew

# Another user may have taken the name in a directory that is everybody's.
run_under "$ended" 100 exit
name=$(find "$stats" -name '.ledger.*' -printf '%f\n')
anew
ln -s /etc/passwd "$stats/$name"
cp /etc/passwd "$WORK/passwd"
run_under "$ended" 100 exit
cmp /etc/passwd "$WORK/passwd" || fail "a planted link was followed"
equal "files beside a planted link" 1 "$(nr_files)"
anew
if [ "$(id -u)" -eq 0 ] && : >"$stats/$name" && chmod 0600 "$stats/$name" &&
	chown 12345 "$stats/$name" 2>/dev/null; then
	run_under "$ended" 100 exit
	equal "size of another user's ledger" 0 \
		"$(stat -c %s "$stats/$name")"
	equal "files beside another user's ledger" 1 "$(nr_files)"
	rm "$stats/$name"
fi
