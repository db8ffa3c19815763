#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recording and a profile may be as long as their owner likes, with nothing in
# them: what is there is read, and memory is taken for that alone.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"
. "$top_srcdir/tests/cli/profile.sh"

cd "$WORK"
# as_before FILE: a report of a file, in little memory, says what it said
as_before() {
	expect 0 "$KF_CLI" --format=json report "$1"
	mv out before
	truncate -s 1T "$1" || skip "no file of 1 TiB can be made here"
	[ "$(du -k "$1" | cut -f1)" -lt 1000000 ] ||
		skip "the file system has no holes"
	expect 0 limited "$KF_CLI" --format=json report "$1"
	cmp before out || fail "$1 is another one with a hole at its end"
}

# A sanitizer has addresses of its own, which are many.
# shellcheck disable=SC3045 # of dash and bash
limited() (
	is_sanitized || ulimit -v 350000
	"$@"
)

mkrecording rec --random 1000000 2000 4 >/dev/null
as_before rec

stacks_begin
stacks leaky 20000000 0 64 boot
expect 0 "$KF_CLI" --dir="$WORK/stats" record -p "$pid" -o prof --duration 0.1
stacks_end
as_before prof
