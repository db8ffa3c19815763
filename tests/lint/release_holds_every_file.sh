#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# What git tracks and what `make dist` packs are the same files, but for those
# that only a checkout has a use for.
. "$top_srcdir/tests/lint/tree.sh"

if [ ! -e "$top_srcdir/.git" ] || ! command -v git >/dev/null; then
	skip "this is not a git checkout, there is nothing to compare with"
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tree_files | grep -Ev '^(\.ci/|(.*/)?\.gitignore$)' >"$work/tracked"
looked_at=$(wc -l <"$work/tracked")

# A directory in EXTRA_DIST stands for all that is in it.
cd "$top_srcdir" || exit 1
while IFS= read -r f; do
	if [ -d "$f" ]; then
		find "$f" -type f
	else
		echo "$f"
	fi
done <"$top_builddir/tests/lint/release-files.txt" | LC_ALL=C sort -u \
	>"$work/packed"
[ -s "$work/packed" ] || complain "the release is empty"

for f in $(LC_ALL=C comm -23 "$work/tracked" "$work/packed"); do
	complain "$f is tracked but not in the release"
done

verdict "tracked files"
