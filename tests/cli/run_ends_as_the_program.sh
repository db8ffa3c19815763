#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# run's status is the program's own; its own failures are 125, 126 and 127.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

expect 0 cli run -- true
expect 1 cli run false
expect 7 cli run -- sh -c 'exit 7'
expect 0 cli run -- printf '%s|' 'a b' '' '*'
equal "arguments" 'a b||*|' "$(cat "$WORK/out")"
equal "stdin" hello "$(echo hello | cli run -- cat)"
kf_rc=0
# shellcheck disable=SC2016 # the inner shell's
cli run -- sh -c 'kill -TERM $$' || kf_rc=$?
equal "status of a killed program" 143 "$kf_rc"

expect 127 cli run -- no-such-program
says "no-such-program: not found"
expect 127 cli run -- ./no/such/file
expect 126 cli run -- "$WORK"
says "not executable"
echo text >"$WORK/text"
expect 126 cli run -- "$WORK/text"
expect 125 cli run
says "a program is missing"
expect 125 cli run --nope -- true
expect 125 env KONFISCATOR_LIBRARY=/no/such.so "$KF_CLI" run -- true
says "/no/such.so"
