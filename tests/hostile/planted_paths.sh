#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A link, FIFO or file in the place of a stats directory is not used.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
need mkfifo
bury_usual_dirs
unset KONFISCATOR_DIR
XDG_RUNTIME_DIR=$WORK/runtime
export XDG_RUNTIME_DIR
mkdir -m 0700 "$XDG_RUNTIME_DIR" "$WORK/elsewhere"
place=$XDG_RUNTIME_DIR/konfiscator

# Nothing planted: this is where the file goes.
case $(stats_line) in
"konfiscator: stats file $place/"*) ;;
*) fail "the directory under test is not used at all" ;;
esac
rm -r "$place"

ln -s "$WORK/elsewhere" "$place"
no_file
same_result
equal "files behind the link" "" "$(ls "$WORK/elsewhere")"
rm -r "$place" "$WORK/with" "$WORK/without"

mkfifo "$place"
no_file
same_result
rm -r "$place" "$WORK/with" "$WORK/without"

echo "not yours" >"$place"
no_file
same_result
equal "the planted file" "not yours" "$(cat "$place")"
rm -r "$place" "$WORK/with" "$WORK/without"

mkdir "$place"
chmod 0777 "$place"
no_file
same_result
equal "files in a directory open to others" "" "$(ls "$place")"
