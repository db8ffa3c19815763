#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Every C file is a fixed point of clang-format under the tree's .clang-format.
. "$top_srcdir/tests/lint/tree.sh"

command -v clang-format >/dev/null ||
	skip "clang-format is missing (package clang-format)"

list=$(tree_match '\.(c|h|cc|cpp)$')
for f in $list; do
	looked_at=$((looked_at + 1))
	clang-format --style="file:$top_srcdir/.clang-format" --dry-run \
		-Werror "$top_srcdir/$f" || complain "$f is not formatted"
done

verdict "C files"
