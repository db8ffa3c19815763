#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With KONFISCATOR_HUGE=1 a large heap asks for huge pages, nearly all of it;
# a small one does not, nor does any without the option.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

[ -e /sys/kernel/mm/transparent_hugepage/enabled ] ||
	skip "the kernel has no transparent huge pages"

# asked OPTION MIB: kB that a heap of this size has asked for.
asked()
{
	run_under env KONFISCATOR_HUGE="$1" \
		"${top_builddir:?}/tests/speed/heap" $(($2 * 1048576)) \
		>"$WORK/heap" || fail "heap $2 ended with $?"
	read -r kb huge resident <"$WORK/heap"
	echo "HUGE=$1, $2 MiB: $kb kB asked for, $huge kB are huge," \
		"$resident kB resident" >&2
	echo "$kb"
}

for mib in 0 1 5 100; do
	equal "$mib MiB without the option" 0 "$(asked 0 "$mib")"
	equal "$mib MiB as it comes" 0 "$(asked '' "$mib")"
done
for mib in 0 1 5; do
	equal "$mib MiB" 0 "$(asked 1 "$mib")"
done
kb=$(asked 1 100)
[ "$kb" -ge $((90 * 1024)) ] || fail "of 100 MiB only $kb kB were asked for"
[ $((kb % 2048)) -eq 0 ] || fail "$kb kB are not whole huge pages"
