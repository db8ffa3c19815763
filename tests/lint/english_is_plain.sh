#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# No text for users has a phrase of english.txt: strings of the tools, of the
# exporter and of the tables, the manuals, the other documents and NEWS.
. "$top_srcdir/tests/lint/tree.sh"

python=${PYTHON3:-python3}
command -v "$python" >/dev/null || skip "python3 is missing"

cd "$top_srcdir" || exit 1
list=$(tree_match '^(src/cli/.*\.c|src/.*\.def|exporter/.*\.c|README\.md|NEWS|doc/.*\.(md|in|8))$')
looked_at=$(echo "$list" | wc -w)
# shellcheck disable=SC2086
"$python" tests/lint/english.py tests/lint/english.txt $list >&2 ||
	complain "english.txt has better words"

verdict files
