#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With the engine system each call answers what the malloc behind the library
# answers, and leaves the same errno: sizes of 0, what is too large, alignments
# that are none, mallopt.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

answers=${top_builddir:?}/tests/engine/answers
"$answers" >"$WORK/alone" || fail "answers ended with $?"
[ "$(grep -c . "$WORK/alone")" -gt 500 ] || fail "there are few answers"
KONFISCATOR_ENGINE=system run_under "$answers" >"$WORK/passed" ||
	fail "under the engine system answers ended with $?"
diff "$WORK/alone" "$WORK/passed" ||
	fail "the engine system changes answers (right)"
