#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# No file holds what words.txt forbids.
. "$top_srcdir/tests/lint/tree.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$top_srcdir" || exit 1
tree_files | grep -Ev '(^|/)(COPYING|words\.txt|self_test\.sh)|\.png$' \
	>"$work/files"
looked_at=$(wc -l <"$work/files")

grep -v '^#' tests/lint/words.txt >"$work/words"
[ -s "$work/words" ] || complain "words.txt is empty"
tab=$(printf '\t')
while IFS="$tab" read -r expression reason; do
	tr '\n' '\0' <"$work/files" |
		xargs -0 grep -nE -e "$expression" /dev/null >"$work/hits"
	while IFS= read -r hit; do
		complain "$hit ($reason)"
	done <"$work/hits"
done <"$work/words"

verdict files
