#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# malloc_trim gives pools back that have no block in use, and the pages of the
# first one, which stays; what is taken again reads as zero, and is counted.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/tlsf/tlsf.sh
. "$top_srcdir/tests/tlsf/tlsf.sh"

word() {
	"$KF_CLI" --dir="$KONFISCATOR_DIR" --format=json stat -a -n pools |
		jq ".[0].$1"
}

# The first pool has room for some of it, for nothing, or is not there.
for first in 4M 64K 0; do
	rm -f "$WORK"/stats/*
	tlsf KONFISCATOR_TLSF_INITIAL=$first KONFISCATOR_TLSF_ADDITIONAL=4M \
		"$pools" trim 2>"$WORK/err" || fail "$first: $(cat "$WORK/err")"
	equal "$first: pools that are left" "$([ $first = 0 ] || echo 1)" \
		"$(word heaps | sed 's/^0$//')"
done
