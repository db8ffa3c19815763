#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# LD_PRELOAD cannot hold a space or a colon; a library with such a path is
# preloaded all the same, into children too, and nothing is left to chance.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

# shellcheck disable=SC2016 # a dollar sign, as it is
for dir in "a space" "a:colon" 'a$LIB'; do
	mkdir "$WORK/$dir"
	cp "$KF_LIB" "$WORK/$dir/libkonfiscator.so"
	cp "${KF_LIB%/*}/libkonfiscator-alone.so" "$WORK/$dir/"
	for more in "" --no-children; do
		# shellcheck disable=SC2086 # no word where empty
		expect 0 env KONFISCATOR_LIBRARY="$WORK/$dir/libkonfiscator.so" \
			"$KF_CLI" --dir="$WORK/stats" run $more -- \
			sh -c 'cat /proc/self/maps; cat /proc/$$/maps'
		prints "$WORK/$dir/libkonfiscator.so"
		[ ! -s "$WORK/err" ] || fail "$dir: $(cat "$WORK/err")"
	done
done
expect 0 env KONFISCATOR_LIBRARY="$WORK/a space/libkonfiscator.so" \
	"$KF_CLI" --dir="$WORK/stats" run --no-children -- env
if grep '^LD_PRELOAD=' "$WORK/out"; then
	fail "--no-children leaves LD_PRELOAD"
fi
[ -d "$TMPDIR/konfiscator-lib-$(id -u)" ] || fail "no directory of links"

# A directory that somebody else could write to is not believed.
rm -rf "$TMPDIR/konfiscator-lib-$(id -u)"
mkdir -m 0777 "$TMPDIR/konfiscator-lib-$(id -u)"
expect 0 env KONFISCATOR_LIBRARY="$WORK/a space/libkonfiscator.so" \
	"$KF_CLI" --dir="$WORK/stats" run -- cat /proc/self/maps
prints "$WORK/a space/libkonfiscator.so"
rmdir "$TMPDIR/konfiscator-lib-$(id -u)" || fail "an open directory was used"
