#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whatever engine serves, the stats file says what the program did, to the byte,
# the states add up to what is held, and it names the engine. So it is where
# the malloc behind the library is another one than the C library's.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/engine/engines.sh
. "$top_srcdir/tests/engine/engines.sh"

# counted ENGINE NAME PRELOAD
counted() {
	echo "# $1 $3"
	KONFISCATOR_ENGINE=$1 "$top_builddir/tests/invariants/invariants" \
		--preload "$3"
	rm -f "$WORK/stats/"*
	KONFISCATOR_ENGINE=$1 env LD_PRELOAD="$3" sleep 0
	set -- "$2" "$WORK"/stats/sleep.*
	[ -f "$2" ] || fail "sleep left no stats file"
	grep -qa "$1" "$2" || fail "the file does not name $1"
}

engines >"$WORK/engines"
while read -r engine; do
	name=${engine##*/}
	counted "$engine" "${name%.so}" "$KF_PRELOAD"
done <"$WORK/engines"

for name in jemalloc.so.2 mimalloc.so.2 tcmalloc_minimal.so.4; do
	for other in /usr/lib/*/lib"$name"; do
		[ ! -e "$other" ] || counted system system "$KF_PRELOAD:$other"
	done
done
