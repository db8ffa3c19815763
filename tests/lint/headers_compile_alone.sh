#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every header includes all it uses: it compiles as the only line of a file.
. "$top_srcdir/tests/lint/tree.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
flags=$(pkg-config --cflags libmicrohttpd jansson libelf gnutls yaml-0.1 \
	libdw libprotobuf-c libcurl 2>/dev/null)

tree_match '^(src|exporter|include|tests)/.*\.h$' >"$work/headers"
while IFS= read -r h; do
	looked_at=$((looked_at + 1))
	printf '#include "%s"\n' "$h" >"$work/alone.c"
	# Unquoted on purpose: CC and the flags are lists.
	# shellcheck disable=SC2086
	${CC:-cc} -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -D_GNU_SOURCE \
		-Wno-unused-function -Wno-unused-parameter \
		-include "$top_builddir/config.h" -iquote "$top_builddir" \
		-iquote "$top_srcdir/src" -iquote "$top_srcdir/include" \
		-iquote "$top_srcdir" $flags \
		"$work/alone.c" || complain "$h does not compile alone"
done <"$work/headers"

verdict headers
