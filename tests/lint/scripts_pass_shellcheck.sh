#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The tool shellcheck finds nothing in any shell script of the tree.
. "$top_srcdir/tests/lint/tree.sh"

command -v shellcheck >/dev/null ||
	skip "shellcheck is missing (package shellcheck)"

cd "$top_srcdir" || exit 1
list=$(tree_files | while IFS= read -r f; do
	case $f in
	*.sh) echo "$f" ;;
	*) head -n 1 "$f" | grep -Eq '^#! *(/usr)?/bin/(env )?(ba)?sh' &&
		echo "$f" ;;
	esac
done)
for f in $list; do
	looked_at=$((looked_at + 1))
	# SC2154: the variables that make check sets.
	shellcheck --external-sources --source-path=. --exclude=SC2154 "$f" ||
		complain "$f"
done

verdict "shell scripts"
