#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# explain --pinned tells which tags and stacks have the blocks that keep
# half-empty slabs: exactly where each block is a sample, which has to agree
# with what the tags say, and within 10 % in the median where few are.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

# begin SAMPLE ARG...
begin() {
	sample=$1
	shift
	# the last one said "ready", too
	rm -f "$WORK/in" "$WORK/said"
	mkfifo "$WORK/in"
	KONFISCATOR_SAMPLE=$sample KONFISCATOR_SAMPLE_SEED=7 \
		run_under_exec "$top_builddir/tests/cli/pins" "$@" \
		<"$WORK/in" >"$WORK/said" 2>&1 7>&- &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	exec 7>"$WORK/in"
	wait_for 120 grep -q ready "$WORK/said" || fail "pins $*: not ready"
}

finish() {
	exec 7>&-
	wait "$pid" || fail "pins ended with status $?"
}

# asks FILE
asks() {
	expect 0 cli explain --pinned -w 0 --format=json -p "$pid"
	jq '.[0].pinned' "$WORK/out" >"$1"
}

# holds FILE EXPRESSION
holds() {
	[ "$(jq "$2" "$1")" = true ] || fail "not $2 in: $(cat "$1")"
}

for what in query cache threads; do
	begin 1 "$what"
	asks "$WORK/exact.$what"
	finish
	begin 1K "$what"
	asks "$WORK/sampled.$what"
	expect 0 cli explain --pinned -w 0 -p "$pid"
	prints "pinned: "
	prints "PINNED"
	finish
done

# All is in slabs of samples, so the stacks have all but what starts a program.
for what in query cache threads; do
	holds "$WORK/exact.$what" '.unknown_live_bytes == 0 and
		([.stacks[].pinned_bytes] | add) > 0.97 * .bytes and
		([.stacks[].pinned_bytes] | add) < 1.03 * .bytes and
		.bytes > 4000000'
done
# What a query used once pins nothing, as it is gone; its results pin in
# proportion to their numbers, as they are spread evenly.
holds "$WORK/exact.query" '[.stacks[] | select(.stack | test("use_once"))] == []'
holds "$WORK/exact.query" '
	def of(f): [.stacks[] | select(.stack | test(f)) | .pinned_bytes] | add;
	of("keep_row") / of("keep_plan") | . > 1.8 and . < 2.2'

"$PYTHON3" - "$WORK" <<'END' || fail "estimates differ from the exact figures"
import json, statistics, sys
errors, outside, stacks = [], 0, 0
for what in "query", "cache", "threads":
    sums = {}
    for kind in "exact", "sampled":
        with open(f"{sys.argv[1]}/{kind}.{what}") as f:
            answer = json.load(f)
        for row in answer["stacks"]:
            name = row["stack"].split(" ")[0]
            if name.startswith(("keep_", "use_")):
                was = sums.setdefault(name, {}).setdefault(kind, [0, 0])
                was[0] += row["pinned_bytes"]
                was[1] += row["error_95"]
    for name, of in sums.items():
        exact = of["exact"][0]
        got, error = of.get("sampled", [0, 0])
        print(f"{what} {name}: exact {exact}, sampled {got} +- {error}")
        errors.append(abs(got - exact) / exact)
        stacks += 1
assert stacks >= 7, stacks
print("median error", statistics.median(errors))
assert statistics.median(errors) <= 0.10, errors
END

# Tags: exact, and the same as by stacks where each block is a sample.
begin 1 query tags
asks "$WORK/tags"
expect 0 cli explain --pinned -w 0 -p "$pid"
prints keep_row
finish
"$PYTHON3" - "$WORK/tags" <<'END' || fail "tags and stacks disagree"
import json, sys
with open(sys.argv[1]) as f:
    answer = json.load(f)
for name in "keep_plan", "keep_row", "keep_index":
    tag, = [r for r in answer["tags"] if r["tag"].split("/")[-1] == name]
    stack = sum(r["pinned_bytes"] for r in answer["stacks"]
                if r["stack"].startswith(name + " "))
    assert abs(tag["pinned_bytes"] - stack) <= 64, (name, tag, stack)
    assert tag["pinned_bytes"] > 100000, tag
assert all(r["live_blocks"] == 0 and r["pinned_bytes"] == 0
           for r in answer["tags"] if r["tag"].endswith("use_once"))
END
begin 0 query tags
asks "$WORK/tags"
holds "$WORK/tags" '([.tags[].pinned_bytes] | add) > 0.95 * .bytes and
	.stacks == []'
finish

# What cannot be known is said.
begin 0 query
KONFISCATOR_DIR=$WORK/stats expect 0 cli explain --pinned -w 0 -p "$pid"
prints "pinned: "
finish
file=$(find "$WORK/stats" -name "*.$pid.*" | head -n 1)
[ -n "$file" ] || fail "the file of the process is gone"
expect 0 cli explain --pinned "$file"
prints ", when the process was last asked"
begin 1 query
kill -9 "$pid"
wait "$pid" || true
file=$(find "$WORK/stats" -name "*.$pid.*" | head -n 1)
expect 0 cli explain --pinned "$file"
prints "not known: which blocks pin half-empty slabs: the process was not"
mkfifo "$WORK/idle"
run_under_exec cat <"$WORK/idle" >"$WORK/said" 7>&- &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
exec 7>"$WORK/idle"
wait_for 60 sh -c "ls $WORK/stats/*.$pid.*" || fail "cat has no stats file"
expect 0 cli explain --pinned -w 0 -p "$pid"
says "did not answer"
prints "not known: which blocks pin half-empty slabs: the process has not"
exec 7>&-
expect 2 cli ctl -p "$pid" pinned=often
says "pinned: 'often' is not now"
