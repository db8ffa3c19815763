#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The program runs under the library, so do its children unless --no-children;
# what was in LD_PRELOAD stays there.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

compile -shared -fPIC -x c -o "$WORK/other.so" - <<'END'
int other(void) { return 0; }
END

# shellcheck disable=SC2016 # the inner shell's
show='printf "%s\n" "$LD_PRELOAD"; grep -c "libkonfiscator.so" /proc/$$/maps;
:'
child=$(command -v grep)

expect 0 cli run -- sh -c "$show"
[ "$(sed -n 2p "$WORK/out")" -gt 0 ] || fail "the program has no library"
equal "LD_PRELOAD" "$(readlink -f "$KF_LIB")" \
	"$(readlink -f "$(sed -n 1p "$WORK/out")")"

expect 0 env LD_PRELOAD="$WORK/other.so" "$KF_CLI" --dir="$WORK/stats" run \
	-- sh -c "$show"
case $(sed -n 1p "$WORK/out") in
*libkonfiscator*.so*:"$WORK/other.so") ;;
*) fail "LD_PRELOAD is $(sed -n 1p "$WORK/out")" ;;
esac

# shellcheck disable=SC2016 # the inner shell's
children='"$1" -c "$2" /proc/self/maps'
expect 0 cli run -- sh -c "$children; :" sh "$child" libkonfiscator.so
[ "$(cat "$WORK/out")" -gt 0 ] || fail "the child has no library"
expect 0 cli run --no-children -- sh -c \
	"grep -c libkonfiscator.so /proc/\$\$/maps; $children; :" \
	sh "$child" libkonfiscator
equal "maps of the child under --no-children" 0 "$(sed -n 2p "$WORK/out")"
expect 0 env LD_PRELOAD="$WORK/other.so" "$KF_CLI" --dir="$WORK/stats" run \
	--no-children -- sh -c "$show"
equal "LD_PRELOAD under --no-children" "$WORK/other.so" \
	"$(sed -n 1p "$WORK/out")"
[ "$(sed -n 2p "$WORK/out")" -gt 0 ] ||
	fail "--no-children has no library at all"
expect 0 cli run --no-children -- env
if grep '^LD_PRELOAD=' "$WORK/out"; then
	fail "--no-children leaves LD_PRELOAD"
fi
