#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# No probe is declared that the library's code never reaches for.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
workdir

c_names all | sed 's/^/kf_probe_/' | sort >"$WORK/declared"
find "$top_srcdir/src" \( -name '*.[ch]' -o -name '*.def' \) -exec \
	grep -oh 'kf_probe_[a-z0-9_]*' {} + | sort -u >"$WORK/called"
[ -s "$WORK/called" ] || fail "no probe is called under src"
comm -23 "$WORK/declared" "$WORK/called" >"$WORK/idle"
[ ! -s "$WORK/idle" ] || fail "never called: $(tr '\n' ' ' <"$WORK/idle")"
