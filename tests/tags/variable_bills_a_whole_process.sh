#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# KONFISCATOR_TAG bills a program that knows nothing of tags, in every thread,
# and is above the tags of one that does. What has a tag and what has none adds
# up to what lives by the stats file.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
needs python3 python3
workdir

# one_moment COMMAND...: start it, and when it has printed a line write a
# snapshot in between; $json is that, $live what the stats file says.
one_moment() {
	rm -f "$WORK"/at.* "$WORK/in"
	mkfifo "$WORK/in"
	: >"$WORK/out"
	KONFISCATOR_SNAPSHOT_SIGNAL=USR1 KONFISCATOR_SNAPSHOT_PREFIX=$WORK/at \
		run_under_exec "$@" <"$WORK/in" >"$WORK/out" &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	exec 8>"$WORK/in"
	wait_for 120 grep -q "^net.http vanish" "$WORK/out" ||
		fail "$* did not come so far"
	kill -USR1 "$pid"
	wait_for 120 test -e "$WORK/at.0000.dot" || fail "there is no snapshot"
	live=$("$KF_CLI" stat --format=json -p "$pid" | jq \
		'.[0] | .live_bytes + .rounding_bytes')
	exec 8>&-
	wait "$pid" || fail "$* ended with $?"
	json=$WORK/at.0000.json
	jq -e --argjson live "$live" '
		.nBytesAllocBeforeInit + .nTotalNetTrackedBytes == $live' \
		"$json" >"$WORK/sum" ||
		fail "$live bytes live, and the snapshot has $(cat "$json")"
}

# Names below the threads' own, each once.
below() {
	jq -r '[to_entries[] | select(.key | startswith("tree_for_TID")) |
		.value[] | objects | .nestedScopes | keys[]] | unique | join(" ")' \
		"$json"
}

cat >"$WORK/job.py" <<'END'
import sys, threading
kept = []
def work(): kept.append([str(i) * 50 for i in range(1000)])
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print("net.http vanish", flush=True)
sys.stdin.read()
END

one_moment "${top_builddir:?}/tests/tags/stacks"
equal "tags of a program" "scope_disk scope_net.http" "$(below)"
jq -e '.nBytesAllocBeforeInit > 0' "$json" >"$WORK/sum" ||
	fail "nothing lives without a tag: $(cat "$json")"

export KONFISCATOR_TAG='the whole'
one_moment "${top_builddir:?}/tests/tags/stacks"
equal "one tag above" "scope_the whole" "$(below)"
jq -e '[.. | objects | select(has("scope_the whole")) |
	.["scope_the whole"].nestedScopes // {} | keys[]] | unique ==
	["scope_disk", "scope_net.http"]' "$json" >"$WORK/sum" ||
	fail "the program's tags are not below: $(cat "$json")"
one_moment python3 "$WORK/job.py"
equal "of python" "scope_the whole" "$(below)"
jq -e '.nTotalNetTrackedBytes > 20 * .nBytesAllocBeforeInit' "$json" \
	>"$WORK/sum" || fail "python is billed too little: $(cat "$json")"

# So it is with a malloc behind the library.
KONFISCATOR_ENGINE=system
export KONFISCATOR_ENGINE
one_moment python3 "$WORK/job.py"
equal "of python, engine system" "scope_the whole" "$(below)"
jq -e '.nTotalNetTrackedBytes > 20 * .nBytesAllocBeforeInit' "$json" \
	>"$WORK/sum" || fail "python is billed too little by system: $(cat "$json")"
