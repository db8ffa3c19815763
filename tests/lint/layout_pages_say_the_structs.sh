#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The tables of a page are the structs of the layout header that it describes:
# every field is there, in its place and of its size, and there is no other.
. "$top_srcdir/tests/lint/tree.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# compare PAGE HEADER, the header relative to src/
compare()
{
	page=$1
	header=$2
	# "struct field offset bytes" for each row.
	awk -F' *[|] *' '
	/^### struct / { split($0, word, " "); name = word[3] }
	/^## / { name = "" }
	name && /^[|] [0-9]/ { gsub(/`/, "", $4); print name, $4, $2, $3 }' \
		"$top_srcdir/$page" | sed 's/| //' >"$work/rows"
	rows=$(wc -l <"$work/rows")
	[ "$rows" -gt 0 ] || complain "$page has no tables"
	looked_at=$((looked_at + rows))

	{
		echo "#include \"$header\""
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
	${CC:-cc} -std=gnu11 -fsyntax-only -iquote "$top_srcdir/src" \
		"$work/rows.c" || complain "$page differs from src/$header"

	# Rows that follow each other without a gap leave no field out.
	awk '$1 == last && $3 != end { print $1 "." $2; bad = 1 }
	     { last = $1; end = $3 + $4 }
	     END { exit bad }' "$work/rows" ||
		complain "$page leaves out what stands before these"

	sed -n 's/^struct \(kf_[a-z_]*\) {$/\1/p' "$top_srcdir/src/$header" \
		>"$work/structs"
	while IFS= read -r s; do
		grep -q "^$s " "$work/rows" ||
			complain "$page does not describe struct $s"
	done <"$work/structs"
}

compare doc/stats-file.md stats/layout.h
compare doc/ledger.md stats/ledger-layout.h
compare doc/recording.md record/layout.h
compare doc/profile-file.md reader/profile-layout.h

# Kind, name and fields of each event, by page and by declaration.
awk -F' *[|] *' '/^[|] [0-9]+ [|] [a-z_]+ [|] [0-9]/ { print $2, $3, $4 }' \
	"$top_srcdir/doc/recording.md" >"$work/told"
cat >"$work/events.c" <<'EOT'
#include "record/event.h"
#include <stdio.h>
#define KF_EVENT(id, n, fields, name, effect, help) \
	printf("%d %s %d\n", n, name, kf_record_fields(n));
int main(void)
{
#include "record/events.def"
}
EOT
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -iquote "$top_srcdir/src" -o "$work/events" \
	"$work/events.c" && "$work/events" >"$work/declared"
cmp -s "$work/told" "$work/declared" ||
	complain "doc/recording.md differs from src/record/events.def"

verdict fields
