#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stats file that was made while the effective user was a lesser one gives that
# user nothing to order: only the user that the process is for good, or root. What
# is made on order is new, whatever was planted.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can lower its user"
private_mounts "$0"
workdir
needs setpriv util-linux

user=23456
order=$top_srcdir/tests/record/order.py
mount -t tmpfs -o mode=0755 tmpfs "$TMPDIR"
at_exit "umount -l '$TMPDIR'"
chmod 0755 "$WORK"
chmod 1777 "$KONFISCATOR_DIR"
# Where the tests lie no other user may come in.
cp "$order" "${top_builddir:?}/tests/hostile/lowered" "$KF_LIB" "$TMPDIR"
chmod -R a+rX "$TMPDIR"
KF_PRELOAD=$TMPDIR/${KF_LIB##*/}
mkdir -m 0700 "$TMPDIR/roots"
mkdir -m 1777 "$TMPDIR/open"
echo secret >"$TMPDIR/roots/secret"
chmod 0600 "$TMPDIR/roots/secret"

as_user() {
	setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

as_user "$PYTHON3" -c pass 2>/dev/null ||
	skip "another user may not run $PYTHON3"

# begin HOW: the program runs, $file is its stats file
begin() {
	dir=$TMPDIR/open/$1
	mkdir -m 0777 "$dir"
	chmod 0777 "$dir"
	run_under_exec "$TMPDIR/lowered" "$1" "$user" "$dir" &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	wait_for 60 [ -e "$dir/ready" ] || fail "$1: the program did not start"
	file=$(find "$KONFISCATOR_DIR" -user "$user" -newer "$TMPDIR/order.py" \
		! -name '.*')
	[ -f "$file" ] || fail "$1: no stats file is the user's: $file"
}

end() {
	: >"$dir/end"
	wait "$pid" || fail "the program ended with status $?"
	rm -f "${KONFISCATOR_DIR:?}"/*
}

# ordered ORDER: what becomes of the user's order
ordered() {
	as_user "$PYTHON3" "$TMPDIR/order.py" "$file" "$1" 1
}

refusal="1 the owner of the stats file is not this process' real, effective \
and saved user, or has fewer rights"
ln -s "$TMPDIR/roots/secret" "$TMPDIR/open/link.0000.json"
for how in fork real kept lower; do
	begin "$how"
	equal "$how: record" "$refusal" "$(ordered "record=$TMPDIR/roots/new")"
	equal "$how: dump" "$refusal" "$(ordered "dump=$TMPDIR/open/link")"
	equal "$how: sample" "$refusal" "$(ordered "sample=4096")"
	end
done
equal "root's files" secret "$(ls "$TMPDIR/roots")"
equal "the secret" secret "$(cat "$TMPDIR/roots/secret")"

# Whoever the process is for good.
begin drop
equal "a recording" "0 recording into $TMPDIR/open/heap" \
	"$(ordered "record=$TMPDIR/open/heap")"
equal "its owner" "$user" "$(stat -c %u "$TMPDIR/open/heap")"
end

# Root orders where others can write: what they planted is passed over.
run_under_exec "$PYTHON3" -c '
import time
while True:
    bytearray(8 << 20)
    time.sleep(0.002)' &
pid=$!
at_exit "kill $pid 2>/dev/null"
has_file() {
	file=$(ls "$KONFISCATOR_DIR"/*."$pid".* 2>/dev/null)
}
wait_for 60 has_file || fail "python did not start"
ln -s "$TMPDIR/roots/secret" "$TMPDIR/open/link.0001.dot"
mkfifo "$TMPDIR/open/link.0002.json"
ordered_by_root() {
	"$PYTHON3" "$TMPDIR/order.py" "$file" "$1" 1
}
equal "a snapshot" "0 snapshot number 3" \
	"$(ordered_by_root "dump=$TMPDIR/open/link")"
[ -s "$TMPDIR/open/link.0003.dot" ] || fail "there is no link.0003.dot"
# What is there already stays as it is.
equal "another" "0 snapshot number 4" \
	"$(ordered_by_root "dump=$TMPDIR/open/link")"
equal "beside a device" "95 dump: the prefix is a device, a link or another special file" \
	"$(ordered_by_root dump=/dev/null)"
ln -s "$TMPDIR/roots/secret" "$TMPDIR/open/heap.link"
equal "into a link" "95 cannot record into $TMPDIR/open/heap.link, which is not a \
regular file" "$(ordered_by_root "record=$TMPDIR/open/heap.link")"
equal "the secret" secret "$(cat "$TMPDIR/roots/secret")"
equal "root's files" secret "$(ls "$TMPDIR/roots")"
