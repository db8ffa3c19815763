#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The command, the table of all programs and the exporter say the same of a
# program that runs; after SIGKILL its stats file still does.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
needs jq jq

mkfifo "$WORK/in"
run_under_exec "$top_builddir/tests/examples/stays" <"$WORK/in" \
	>"$WORK/out" &
pid=$!
exec 3>"$WORK/in"
at_exit "kill -KILL $pid 2>/dev/null"
wait_for 120 grep -q ready "$WORK/out" || fail "the program is not ready"

# 11 of 23 blocks of 100 bytes, which have 112; 23 of 1000, which have 1024.
bytes=$((11 * 112 + 23 * 1024))
blocks=$((11 + 23))
sums='[.. | objects | .scope_shared // empty] |
	"\(map(.nBytesSelfLive) | add) \(map(.nBlocksLive) | add)"'

equal "tags -p" "$bytes $blocks" \
	"$("$KF_CLI" tags -p "$pid" --format=json | jq -r "$sums")"
equal "stat --by=tag" "$bytes $blocks 2" "$("$KF_CLI" stat -p "$pid" \
	--by=tag --format=json | jq -r '.[] | select(.tag == "shared") |
	"\(.live_bytes) \(.live_blocks) \(.threads)"')"
"$KF_CLI" tags -p "$pid" --view=flat >"$WORK/flat"
grep -qF 'own "name"\x0a\xff' "$WORK/flat" || fail "the odd name is not shown"
if [ -x "$KF_EXPORTER" ]; then
	"$KF_EXPORTER" --once --stats.dir="$KONFISCATOR_DIR" \
		--stats.state-file= >"$WORK/page"
	equal "the exporter" "$bytes $blocks" "$(awk '
		/^konfiscator_tag_live_bytes.*tag="shared"/ { bytes = $NF }
		/^konfiscator_tag_live_blocks.*tag="shared"/ { blocks = $NF }
		END { print bytes, blocks }' "$WORK/page")"
fi

kill -KILL "$pid"
wait "$pid" || :
set -- "$KONFISCATOR_DIR"/stays.*
equal "after SIGKILL" "$bytes $blocks" \
	"$("$KF_CLI" tags --format=json "$1" | jq -r "$sums")"
