#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A declaration that breaks a rule of the ABI, or that dtrace(1) would misread,
# stops the generator with a line that names it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
workdir

# refused WORD LINE...: a declaration of these lines ends with a message on it
refused() {
	word=$1
	shift
	{
		echo 'provider konfiscator {'
		printf '%s\n' "$@"
		echo '};'
	} >"$WORK/p.d"
	if generate header "$WORK/p.d" >"$WORK/out" 2>"$WORK/err"; then
		fail "accepted: $*"
	fi
	grep -q "p.d:[0-9]*: .*$word" "$WORK/err" ||
		fail "wanted '$word' in: $(cat "$WORK/err")"
	[ ! -s "$WORK/out" ] || fail "wrote a header for: $*"
}

c='/* it happened */'
refused 'twice' "$c" 'probe a(uint64_t b);' "$c" 'probe a(uint64_t b);'
refused 'two underscores' "$c" 'probe a__b(uint64_t b);'
refused 'no comment' 'probe a(uint64_t b);'
refused 'more than six' "$c" 'probe a(uint64_t a, uint64_t b, uint64_t c,
uint64_t d, uint64_t e, uint64_t f, uint64_t g);'
refused 'int b' "$c" 'probe a(int b);'
refused 'not a probe' "$c" 'prob a(uint64_t b);'
refused 'hides it' "$c" 'probe a(uint64_t b); /* late */'
refused 'unexpected end' "$c" 'probe a(uint64_t b)'
refused 'tapset' "$c" 'probe a(uint64_t name);'

# The same lines, put right, are accepted: the refusals are not for all.
printf '%s\n' 'provider konfiscator {' "$c" 'probe a(uint64_t b,' \
	'uint64_t c);' '};' >"$WORK/p.d"
equal "a good declaration" "konfiscator a guarded 2 b c" \
	"$(generate names "$WORK/p.d")"
if generate nonsense 2>"$WORK/err"; then
	fail "accepted the mode 'nonsense'"
fi
grep -q nonsense "$WORK/err" || fail "the mode is not named"
