#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every fuzzer passes on each kept input and on neighbours of these; what ends
# a fuzzer is kept, to be tried again.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

# The engine system passes calls on: only its program can break its blocks.
engines_but system >"$WORK/engines"
while read -r engine; do
	if [ ! -x "$top_builddir/tests/fuzz/fuzz-$engine" ] ||
		[ ! -d "$top_srcdir/tests/fuzz/corpus/$engine" ]; then
		fail "engine $engine has no fuzzer: add fuzz-$engine to" \
			"tests/fuzz/Makemodule.am, and inputs to" \
			"tests/fuzz/corpus/$engine"
	fi
done <"$WORK/engines"

tried=0
for program in "$top_builddir"/tests/fuzz/fuzz-*; do
	name=${program##*/fuzz-}
	case $name in *.*) continue ;; esac
	# these take longest
	neighbours=1000
	if [ "$name" = scan ] || grep -qx "$name" "$WORK/engines"; then
		neighbours=100
	fi
	"$program" -n "$neighbours" -l "$WORK/last" \
		"$top_srcdir/tests/fuzz/corpus/$name"/* >"$WORK/out" 2>&1 || {
		cat "$WORK/out"
		od -A d -t x1z "$WORK/last" | head -n 40
		fail "$name does not pass on the bytes above"
	}
	echo "$name: $(tail -n 1 "$WORK/out")"
	tried=$((tried + 1))
done
[ "$tried" -ge 8 ] || fail "only $tried fuzzers are built"

# The driver finds a planted defect, and leaves the input that did.
printf x >"$WORK/input"
cat >"$WORK/planted.c" <<'END'
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] != 'x')
		abort();
	return 0;
}
END
# CC may be a list.
# shellcheck disable=SC2086
${CC:-cc} -D_GNU_SOURCE -iquote "$top_builddir" -iquote "$top_srcdir" -o "$WORK/planted" \
	"$WORK/planted.c" "$top_srcdir/tests/fuzz/standalone.c"
"$WORK/planted" "$WORK/input" >/dev/null || fail "the good input fails"
status=0
"$WORK/planted" -n 1000 -l "$WORK/last" "$WORK/input" >/dev/null 2>&1 || status=$?
[ "$status" -gt 128 ] || fail "a planted defect is not found: $status"
[ "$(head -c 1 "$WORK/last")" != x ] || fail "what found it is not kept"
