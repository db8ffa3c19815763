#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# While another thread of a forked child makes its file, what the thread that
# forked does is counted, to the last call.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

children=50

# counted PAIRS: sets $pairs, $mallocs and $frees, of all processes
counted() {
	mallocs='' frees=''
	rm -f "$KONFISCATOR_DIR"/*
	pairs=$(run_under "${top_builddir:?}/tests/threads/heirs" $children "$1") ||
		[ $? -eq 137 ] || fail "heirs ended in another way"
	"$KF_CLI" --dir="$KONFISCATOR_DIR" --format=json stat -a -n heirs \
		>"$WORK/stat"
	for name in mallocs frees; do
		eval "$name=$(sed -n "s/.*\"$name\": \([0-9]*\).*/\1/p" \
			"$WORK/stat")"
	done
	equal "files of children and their parent" $((children + 1)) \
		"$(find "$KONFISCATOR_DIR" -name 'heirs.*' | wc -l)"
}

counted 0
base_mallocs=$mallocs
base_frees=$frees
equal "pairs in children that make none" 0 "$pairs"
counted 3000
[ "$pairs" -gt 0 ] || fail "no child's threads did anything at once"
equal "mallocs of $pairs pairs" $((base_mallocs + pairs)) "$mallocs"
equal "frees of $pairs pairs" $((base_frees + pairs)) "$frees"
