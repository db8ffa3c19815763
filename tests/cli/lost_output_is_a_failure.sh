#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# When stdout cannot take what was printed the status says so.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
[ -c /dev/full ] || skip "there is no /dev/full"

for args in --help --version "ls --help"; do
	kf_rc=0
	# shellcheck disable=SC2086 # words are meant
	"$KF_CLI" $args >/dev/full 2>"$WORK/err" || kf_rc=$?
	equal "status of $args on a full device" 1 "$kf_rc"
	says "stdout: "
done
