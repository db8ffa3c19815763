#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The examples run alone, do not know the library when they are looked at, and
# say so when they are asked for tags.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

for name in minimal minimal_cxx multithread worker_pool; do
	example=$top_builddir/examples/$name
	"$example" || fail "$name does not run alone"
	if ldd "$example" | grep -q konfiscator; then
		fail "$name links the library"
	fi
	if "$example" "$WORK/tags.json" 2>"$WORK/err"; then
		fail "$name wrote tags without the library"
	fi
	grep -q "^$name: .*not implemented" "$WORK/err" ||
		fail "$name says: $(cat "$WORK/err")"
	[ ! -e "$WORK/tags.json" ] || fail "$name left a file"
done
