#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recording whose name is a device's, a pipe's, a directory's or a link's is
# refused in one line; no file of a name that is derived from such a one is made,
# by children and for snapshots neither.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
needs "$PYTHON3" python3

# Two processes of the same program, and a tag for the snapshots.
job() {
	run_under env KONFISCATOR_TAG=all "$@" "$PYTHON3" -c '
import os, sys
pid = os.fork()
x = [str(i) * 10 for i in range(10000)]
if pid:
    os.waitpid(pid, 0)
else:
    sys.exit(0)' 2>"$WORK/err"
}

mkdir "$WORK/place" "$WORK/place/directory"
mkfifo "$WORK/place/pipe"
ln -s "$WORK/target" "$WORK/place/link"
ln -s /dev/null "$WORK/place/to-device"
ls "$WORK/place" >"$WORK/before"

# made_nothing WHAT
made_nothing() {
	ls "$WORK/place" >"$WORK/after"
	cmp -s "$WORK/before" "$WORK/after" ||
		fail "$1: in the directory are now: $(cat "$WORK/after")"
	[ ! -e "$WORK/target" ] || fail "$1: what the link leads to was made"
	! ls /dev/null.* >"$WORK/out" 2>/dev/null ||
		fail "$1: beside /dev/null is $(cat "$WORK/out")"
}

for name in /dev/null "$WORK/place/directory" "$WORK/place/pipe" \
	"$WORK/place/link" "$WORK/place/to-device"; do
	job KONFISCATOR_RECORD="$name"
	equal "$name" "konfiscator: KONFISCATOR_RECORD=$name: cannot be \
recorded into: it exists and is not a regular file" "$(sort -u "$WORK/err")"
	made_nothing "recording into $name"
done

# By interval 86400 a snapshot is written at the end.
for name in /dev/null "$WORK/place/pipe" "$WORK/place/link"; do
	job KONFISCATOR_SNAPSHOT_INTERVAL=86400 \
		KONFISCATOR_SNAPSHOT_PREFIX="$name"
	equal "$name" "konfiscator: KONFISCATOR_SNAPSHOT_PREFIX=$name: not a \
usable path" "$(cat "$WORK/err")"
	made_nothing "snapshots of prefix $name"
done

for name in /dev/null "$WORK/place/to-device" "$WORK/place/directory"; do
	job KONFISCATOR_TAGS_JSON="$name" KONFISCATOR_TAGS_DOT="$name"
	made_nothing "tags in $name"
done

# What is a file's name has all of these still.
job KONFISCATOR_RECORD="$WORK/heap" KONFISCATOR_TAGS_JSON="$WORK/tags"
equal "recordings" 2 "$(find "$WORK" -maxdepth 1 -name 'heap*' | wc -l)"
equal "tags" 2 "$(find "$WORK" -maxdepth 1 -name 'tags*' | wc -l)"
