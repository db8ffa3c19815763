#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The image builds by its Dockerfile, on a clean Debian in place of the
# registry's, and runs as compose.yaml runs it: nobody's, on a root that cannot
# be written; its program is counted, served and drawn. For `make check-image`.
# limit: 3000
. "${top_srcdir:?}/tests/lib.sh"
. "$top_srcdir/tests/packaging/base.sh"

workdir
need buildah curl chromium chromedriver
clean_debian

# image_exec COMMAND ARG...: in a store of the test's own, in a chroot: no daemon,
# no network of its own. All that it starts ends with it.
image_exec() {
	exec unshare --pid --fork --kill-child --mount-proc \
		env HOME="$WORK" buildah --root "$WORK/store" \
		--runroot "$WORK/run" --storage-driver vfs "$@"
}
image() {
	(image_exec "$@")
}

dockerfile=$top_srcdir/packaging/bench/Dockerfile
from=$(sed -n 's/^FROM \([^ ]*\).*/\1/p' "$dockerfile" | sort -u)
case $from in
*:12) ;;
*) fail "the Dockerfile builds on '$from', not on one Debian 12" ;;
esac
container=$(image from scratch)
image copy -q "$container" "$base" / >/dev/null
# What this machine trusts besides, npm in it has to.
if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
	image copy -q "$container" /usr/local/share/ca-certificates \
		/usr/local/share/ca-certificates >/dev/null
fi
image commit -q "$container" "$from" >/dev/null
image rm "$container" >/dev/null

image bud --isolation chroot --pull-never -t konfiscator \
	-f "$dockerfile" "$top_srcdir" >"$WORK/bud" 2>&1 ||
	fail "it does not build: $(tail -n 20 "$WORK/bud")"

container=$(image from --pull-never konfiscator)
image inspect -t image -f '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' \
	konfiscator >"$WORK/config"
equal "user and entry point" "nobody [/usr/local/bin/konfiscator-bench]" \
	"$(cat "$WORK/config")"
image_exec run --isolation chroot --env KF_BENCH_LISTEN=127.0.0.1:0 \
	"$container" -- /usr/local/bin/konfiscator-bench >"$WORK/log" 2>&1 &
running=$!
at_exit "kill -KILL $running 2>/dev/null || :; wait $running || :"
# served EXPRESSION: a line of what is served matches.
served() {
	kill -0 "$running" 2>/dev/null || fail "it ended: $(cat "$WORK/log")"
	port=$(sed -n 's/.*listening.*127\.0\.0\.1:\([0-9]*\).*/\1/p' "$WORK/log")
	[ -n "$port" ] &&
		curl -s -o "$WORK/page" "http://127.0.0.1:$port/metrics" &&
		grep -Eq "$1" "$WORK/page"
}
wait_for 100 served '^konfiscator_malloc_total\{.*"python3.*\} [1-9]' ||
	fail "the program is not served: $(cat "$WORK/log")"
"$PYTHON3" "$top_srcdir/tests/packaging/charts_are_drawn.py" \
	"http://127.0.0.1:$port" || fail "the pages have no charts"
