#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library starts before the dynamic linker has ended, and so however that is
# told to bind: at once, never for good, and through its profiler or an auditor.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
need readelf
workdir

echo 'unsigned int la_version(unsigned int v) { return v; }
unsigned int la_objopen(void *map, long space, void *cookie) { return 3; }' \
	>"$WORK/auditor.c"
compile -shared -fPIC -o "$WORK/auditor.so" "$WORK/auditor.c" ||
	fail "no auditor is made"

# starts SETTING...: sort works with it, on the library
starts() {
	said=$(printf '%s\n' c a b | run_under env KONFISCATOR_VERBOSE=1 "$@" \
		sort 2>"$WORK/err") || fail "$*: sort ended with $?"
	equal "what sort says with $*" "a b c" "$(echo "$said" | tr '\n' ' ' |
		sed 's/ $//')"
	grep -q '^konfiscator: stats file .*/sort\.' "$WORK/err" ||
		fail "$*: the library has not started: $(cat "$WORK/err")"
}

soname=$(readelf -dW "$KF_LIB" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" ] || fail "the library has no name"
starts KONFISCATOR_VERBOSE=1
starts LD_BIND_NOW=1
starts LD_BIND_NOT=1
starts LD_AUDIT="$WORK/auditor.so"
starts LD_PROFILE="$soname" LD_PROFILE_OUTPUT="$WORK"
ls "$WORK"/*.profile >/dev/null || fail "the dynamic linker made no profile"
