#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every quoted #include of the tree goes to a directory that layers.txt allows.
. "$top_srcdir/tests/lint/tree.sh"

table=$top_srcdir/tests/lint/layers.txt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

tree_match '^(src|exporter|include|probes)/.*\.(c|h|def)$' >"$work/files"
looked_at=$(wc -l <"$work/files")

# "file line header" for each quoted include.
while IFS= read -r f; do
	awk -v f="$f" '/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, part, "\"")
		print f, FNR, part[2]
	}' "$top_srcdir/$f"
done <"$work/files" >"$work/includes"

# What a quoted name stands for, as a path from the top: the directory of the
# including file first, then src/, then the top; else made by the build.
resolve()
{
	for at in "$(dirname "$1")/$2" "src/$2" "include/$2" "$2"; do
		if [ -f "$top_srcdir/$at" ]; then
			echo "$at"
			return
		fi
	done
	echo "$2"
}

while IFS=' ' read -r f line header; do
	[ "$header" != config.h ] || continue
	target=$(resolve "$f" "$header")
	awk -v f="$f" -v t="$target" '
	function dir(p) { sub(/\/[^\/]*$/, "", p); return p }
	/^#/ || NF == 0 { next }
	$1 == dir(f) {
		known = 1
		if (dir(t) == $1)
			allowed = 1
		for (i = 2; i <= NF; i++)
			if ($i == dir(t) || $i == t)
				allowed = 1
	}
	END { exit known ? !allowed : 2 }' "$table"
	case $? in
	0) ;;
	2) complain "$f: $(dirname "$f") is not in layers.txt" ;;
	*) complain "$f:$line: may not include \"$header\" ($target)" ;;
	esac
done <"$work/includes"

# A directory of sources that has no line would go unwatched.
sed 's,/[^/]*$,,' "$work/files" | sort -u >"$work/directories"
while IFS= read -r d; do
	grep -Eq "^$d([[:space:]]|\$)" "$table" ||
		complain "$d holds sources but is not in layers.txt"
done <"$work/directories"

verdict sources
