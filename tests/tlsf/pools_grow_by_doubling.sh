#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A request that no pool serves adds pools, each of twice the bytes of the one
# before, until one does, and each is told in a line; the next such request
# begins anew.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/tlsf/tlsf.sh
. "$top_srcdir/tests/tlsf/tlsf.sh"

cat >"$WORK/wanted" <<'END'
konfiscator: tlsf pools exhausted: 100 bytes added
konfiscator: tlsf pools exhausted: 200 bytes added
konfiscator: tlsf pools exhausted: 400 bytes added
konfiscator: tlsf pools exhausted: 800 bytes added
konfiscator: tlsf pools exhausted: 1600 bytes added
END
for sizes in 'KONFISCATOR_TLSF_INITIAL=64K KONFISCATOR_TLSF_ADDITIONAL=100' \
	'INITIAL_MEMPOOL_SIZE=65536 ADDITIONAL_MEMPOOL_SIZE=100'; do
	# shellcheck disable=SC2086 # words
	tlsf $sizes "$pools" grow >"$WORK/out" 2>"$WORK/err" ||
		fail "$sizes: $(cat "$WORK/err")"
	sed '1,/^now$/d' "$WORK/err" >"$WORK/got"
	diff "$WORK/wanted" "$WORK/got" || fail "$sizes: wanted (left)"
	[ ! -s "$WORK/out" ] || fail "the library wrote to the program's output"
done

# Enough at once: one line.
tlsf KONFISCATOR_TLSF_INITIAL=64K KONFISCATOR_TLSF_ADDITIONAL=1M \
	"$pools" grow 2>"$WORK/err"
equal "with 1M more" "konfiscator: tlsf pools exhausted: 1048576 bytes added
now" "$(cat "$WORK/err")"

# The first pool may be left to the first request, the others out.
tlsf KONFISCATOR_TLSF_INITIAL=0 "$pools" sums 2>"$WORK/err"
equal "without a first pool" \
	"konfiscator: tlsf pools exhausted: 104857600 bytes added" \
	"$(cat "$WORK/err")"
tlsf KONFISCATOR_TLSF_INITIAL=5M KONFISCATOR_TLSF_ADDITIONAL=0 \
	"$pools" fill 2>"$WORK/err" || fail "a pool that is filled"
[ ! -s "$WORK/err" ] || fail "without additions: $(cat "$WORK/err")"
