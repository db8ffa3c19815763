#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The table in doc/security.md of what free, realloc and malloc_usable_size do with
# a pointer that is no block is what a program sees. To bring the page up, put there
# what this prints.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir

noblock=${top_builddir:?}/tests/hostile/noblock

# cell CALL POINTER [VARIABLE=VALUE...]: what the program prints, and its end
cell() {
	call=$1 pointer=$2
	shift 2
	status=0
	env "$@" LD_PRELOAD="$KF_PRELOAD" prlimit --core=0 \
		"$noblock" "$call" "$pointer" >"$WORK/out" 2>&1 || status=$?
	# Some shells say of a command that it was aborted.
	sed '/^Aborted/d; s/^konfiscator: \(.*\) 0x.*/\1/; s/ of$//' \
		"$WORK/out" | awk -v status="$status" '
			{ text = text (NR > 1 ? ", then " : "") $0 }
			END {
				if (status == 134)
					text = text ", abort"
				else if (status)
					text = text ", status " status
				print text
			}'
}

"$noblock" >"$WORK/rows"
{
	echo "| call | pointer | default | count | secure | secure, count |"
	echo "|---|---|---|---|---|---|"
	while read -r call pointer; do
		count=KONFISCATOR_ON_ERROR=count secure=KONFISCATOR_SECURE=1
		printf '| %s | %s | %s | %s | %s | %s |\n' "$call" "$pointer" \
			"$(cell "$call" "$pointer")" \
			"$(cell "$call" "$pointer" "$count")" \
			"$(cell "$call" "$pointer" "$secure")" \
			"$(cell "$call" "$pointer" "$secure" "$count")"
	done <"$WORK/rows"
} >"$WORK/table"
cat "$WORK/table"
[ "$(wc -l <"$WORK/table")" -ge 32 ] || fail "the table has too few rows"
awk '/^\| call \| pointer \|/ { on = 1 } !NF { on = 0 } on' \
	"$top_srcdir/doc/security.md" >"$WORK/page"
diff "$WORK/page" "$WORK/table" ||
	fail "doc/security.md (left) does not say what happens (right)"
