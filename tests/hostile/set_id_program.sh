#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A set-id program believes nothing that its user put into the environment.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can install a program for another user"
private_mounts "$0"
workdir
need setpriv "${CC%% *}"
# Nobody's, so that what is in the usual place is of this test.
user=$((1000000000 + $$))
usual=/tmp/konfiscator-stats-$user
at_exit "rm -rf '$usual'"

chmod 0755 "$WORK"
chmod 1777 "$KONFISCATOR_DIR"
mkdir -m 0755 "$WORK/bin"
cp "$KF_LIB" "$WORK/bin/libkonfiscator.so.1"
chmod 0755 "$WORK/bin/libkonfiscator.so.1"
compile -fno-builtin -o "$WORK/bin/program" "$top_srcdir/tests/hostile/set_id.c" \
	-Wl,--no-as-needed "$WORK/bin/libkonfiscator.so.1" \
	-Wl,-rpath,"$WORK/bin"

# An engine that says so when it is asked to serve.
compile -shared -fPIC -Wno-unused-function -DWHY='"the moon is full"' \
	-I"$top_srcdir/include" -o "$WORK/bin/outside.so" \
	"$top_srcdir/tests/engine/outside.c"
chmod 0755 "$WORK/bin/outside.so"

# run [ENGINE]
run() {
	env KONFISCATOR_VERBOSE=1 KONFISCATOR_ENGINE="${1:-nonsense}" \
		XDG_RUNTIME_DIR="$KONFISCATOR_DIR" \
		KONFISCATOR_RECORD="$KONFISCATOR_DIR/heap" \
		setpriv --reuid 12345 --regid 12345 --clear-groups \
		"$WORK/bin/program" 2>&1
}

# The same program without the bit does what the environment says.
run >"$WORK/plain"
grep -q '^secure 0' "$WORK/plain" || fail "$(cat "$WORK/plain")"
grep -q nonsense "$WORK/plain" || fail "a wrong engine was not reported"
grep -q "stats file $KONFISCATOR_DIR/program" "$WORK/plain" ||
	fail "the directory was not used: $(cat "$WORK/plain")"
[ -f "$KONFISCATOR_DIR/heap" ] || fail "the heap's history was not recorded"
rm -r "${KONFISCATOR_DIR:?}"/*
run "$WORK/bin/outside.so" >"$WORK/plain"
grep -q 'the moon is full' "$WORK/plain" ||
	fail "the engine was not asked: $(cat "$WORK/plain")"
rm -r "${KONFISCATOR_DIR:?}"/*

chown "$user" "$WORK/bin/program"
chmod 4755 "$WORK/bin/program"
run >"$WORK/set-id"
grep -q '^secure 1' "$WORK/set-id" ||
	skip "set-id programs are switched off where this test runs (nosuid)"
equal "what it prints" "secure 1" "$(cat "$WORK/set-id")"
equal "files in the user's directory" "" "$(ls "$KONFISCATOR_DIR")"

run "$WORK/bin/outside.so" >"$WORK/set-id"
equal "what it prints where an engine is named" "secure 1" \
	"$(cat "$WORK/set-id")"
