#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The tables of doc/stats-file.md are the structs of src/stats/layout.h: every
# field is there, in its place and of its size, and there is no other.
. "$top_srcdir/tests/lint/tree.sh"

page=$top_srcdir/doc/stats-file.md
header=$top_srcdir/src/stats/layout.h
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# "struct field offset bytes" for each row.
awk -F' *[|] *' '
/^### struct / { split($0, word, " "); name = word[3] }
/^[|] [0-9]/ { gsub(/`/, "", $4); print name, $4, $2, $3 }' "$page" |
	sed 's/| //' >"$work/rows"
looked_at=$(wc -l <"$work/rows")

{
	echo '#include "stats/layout.h"'
	echo '#include <stddef.h>'
	echo '#define AT(s, f, o) _Static_assert(offsetof(struct s, f) == o, #f);'
	echo '#define OF(s, f) sizeof(((struct s *)0)->f)'
	awk '{ printf "AT(%s, %s, %s)\n", $1, $2, $3
	       printf "_Static_assert(OF(%s, %s) == %s, \"%s\");\n", $1, $2, $4, $2
	       size[$1] = $3 + $4 }
	     END { for (s in size)
		printf "_Static_assert(sizeof(struct %s) == %d, \"%s\");\n",
		       s, size[s], s }' "$work/rows"
} >"$work/rows.c"
# CC may be a list.
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -fsyntax-only -iquote "$top_srcdir/src" "$work/rows.c" ||
	complain "doc/stats-file.md differs from src/stats/layout.h"

# Rows that follow each other without a gap leave no field out.
awk '$1 == last && $3 != end { print $1 "." $2; bad = 1 }
     { last = $1; end = $3 + $4 }
     END { exit bad }' "$work/rows" ||
	complain "doc/stats-file.md leaves out what stands before these"

sed -n 's/^struct \(kf_[a-z_]*\) {$/\1/p' "$header" >"$work/structs"
while IFS= read -r s; do
	grep -q "^$s " "$work/rows" ||
		complain "doc/stats-file.md does not describe struct $s"
done <"$work/structs"

verdict fields
