#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A size that is none is told in one line, by the name it was given with, and
# the program runs with the default; an older name counts only where the option
# is not set by its own, and only for this engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/tlsf/tlsf.sh
. "$top_srcdir/tests/tlsf/tlsf.sh"

for name in KONFISCATOR_TLSF_INITIAL KONFISCATOR_TLSF_ADDITIONAL \
	INITIAL_MEMPOOL_SIZE ADDITIONAL_MEMPOOL_SIZE; do
	for value in abc -1 100X 1180591620717411303424; do
		tlsf $name=$value "$pools" sums >"$WORK/out" 2>&1 ||
			fail "$name=$value ends the program with $?"
		equal "$name=$value" "konfiscator: $name=$value: not bytes,\
 with K, M, G or T; the default stays" "$(cat "$WORK/out")"
	done
	run_under $name=16M true >"$WORK/out" 2>&1
	[ ! -s "$WORK/out" ] || fail "$name=16M: $(cat "$WORK/out")"
done
run_under INITIAL_MEMPOOL_SIZE=abc true >"$WORK/out" 2>&1
[ ! -s "$WORK/out" ] || fail "another engine: $(cat "$WORK/out")"
tlsf INITIAL_MEMPOOL_SIZE=abc KONFISCATOR_TLSF_INITIAL=16M "$pools" sums \
	>"$WORK/out" 2>&1
[ ! -s "$WORK/out" ] || fail "an older name that is not read:" \
	"$(cat "$WORK/out")"

tlsf KONFISCATOR_TLSF_INITIAL=0 KONFISCATOR_TLSF_ADDITIONAL=0 true \
	>"$WORK/out" 2>&1 || fail "without pools: status $?"
equal "without pools" \
	"konfiscator: KONFISCATOR_ENGINE=tlsf: both pool sizes are 0;\
 the default stays" "$(cat "$WORK/out")"
