#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library has each probe of glibc's malloc, with at least glibc's arguments,
# and so each that the script of glibc's article names.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need_probes
need readelf
workdir

notes "$KF_LIB" >"$WORK/notes"

# has NAME N: the library has the probe, with N arguments or more
has() {
	nr=$(awk -v name="$1" '
		$1 == "konfiscator" && $2 == name { print $4; exit }' \
		"$WORK/notes")
	[ -n "$nr" ] || fail "there is no probe $1"
	[ "$nr" -ge "$2" ] || fail "$1 has $nr arguments, not $2"
}

grep -v '^#' "$top_srcdir/tests/probes/glibc.golden" >"$WORK/glibc"
while read -r name nr; do
	has "$name" "$nr"
done <"$WORK/glibc"

# The marks of the article, each with the highest argument that it uses.
awk -F '"' '
	/^probe .*\.mark\(/ { name = $4; used[name] = 0 }
	/^}/ { name = "" }
	name != "" {
		line = $0
		while (match(line, /\$arg[0-9]/)) {
			n = substr(line, RSTART + 4, 1) + 0
			if (n > used[name])
				used[name] = n
			line = substr(line, RSTART + 5)
		}
	}
	END {
		for (name in used)
			print name, used[name]
	}' "$top_srcdir/tests/scripts/article.stp" | sort >"$WORK/article"
equal "marks of the article" 11 "$(wc -l <"$WORK/article" | tr -d ' ')"
equal "the article's sbrk" 2 \
	"$(awk '$1 == "memory_sbrk_less" { print $2 }' "$WORK/article")"
while read -r name nr; do
	has "$name" "$nr"
	grep -q "^$name " "$WORK/glibc" || fail "glibc.golden lacks $name"
done <"$WORK/article"

# A C library that has them says the same.
libc=$(sed -n '/\/libc[-.][0-9.so]*$/s,^[^/]*,,p' /proc/self/maps |
	head -n 1)
notes "$libc" | awk '
	$1 == "libc" && $2 ~ /^memory_/ { print $2, $4 }' | sort -u >"$WORK/libc"
while read -r name nr; do
	grep -qx "$name $nr" "$WORK/glibc" ||
		fail "$libc has $name of $nr arguments, glibc.golden does not"
done <"$WORK/libc"
