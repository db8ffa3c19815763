#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Of the tags that a list chooses each block has its call stack: live bytes and
# blocks of each stack are exact, over threads, realloc and frees elsewhere;
# other tags have none. So it is with samples taken beside.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir

stacks=${top_builddir:?}/tests/tags/stacks
mkfifo "$WORK/in"

# chosen LIST [SAMPLE]: start the program, and show what its stacks have as it
# prints them itself; with samples as tables too.
chosen() {
	: >"$WORK/out"
	"$KF_CLI" run --tag-stacks "$1" ${2:+--sample "$2"} -- "$stacks" \
		<"$WORK/in" >"$WORK/out" 2>"$WORK/err" &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	exec 8>"$WORK/in"
	wait_for 120 grep -q '^net.http vanish' "$WORK/out" ||
		fail "the program did not come so far: $(cat "$WORK/err")"
	"$KF_CLI" tags --stacks --format=json -p "$pid" >"$WORK/json"
	jq -r '.[] | (.stack | split(" < ")[0]) as $f |
		"\(.tag | sub("^net.http/"; "")) \($f) \(.live_bytes) \(.live_blocks)"' \
		"$WORK/json" | sort >"$WORK/got"
	if [ $# -gt 1 ]; then
		"$KF_CLI" tags --stacks -p "$pid" >"$WORK/table"
		"$KF_CLI" tags --stacks --full -p "$pid" >"$WORK/full"
	fi
	exec 8>&-
	wait "$pid" || fail "the program ended with $?"
	grep -v '^net.http vanish' "$WORK/out" | sort >"$WORK/want"
}

for sample in "" 4K; do
	chosen "+net*,-net.cache" $sample
	equal "stacks${sample:+, samples of $sample}" \
		"$(grep '^net.http ' "$WORK/want")" "$(cat "$WORK/got")"
done
grep -q 'net.http  *fetch < work' "$WORK/table" ||
	fail "the table lacks fetch: $(cat "$WORK/table")"
grep -q vanish "$WORK/table" && fail "what has gone is shown"
grep -q 'net.http  *vanish < work' "$WORK/full" ||
	fail "--full lacks what has gone"
jq -e '[.[] | .percent_of_tag] | add | . > 99.9 and . < 100.1' "$WORK/json" \
	>"$WORK/sum" || fail "the shares of a tag are not 100 %"

chosen "*"
equal "all stacks" "$(cat "$WORK/want")" "$(cat "$WORK/got")"
export KONFISCATOR_ENGINE=system
chosen "*"
equal "all stacks, engine system" "$(cat "$WORK/want")" "$(cat "$WORK/got")"
unset KONFISCATOR_ENGINE
chosen "-net*,disk"
equal "stacks of disk" "$(grep '^disk ' "$WORK/want")" "$(cat "$WORK/got")"
chosen "none"
equal "stacks of none" "" "$(cat "$WORK/got")"

# What is no list, and what has no stacks.
KONFISCATOR_TAG_STACKS='a*b' run_under true 2>"$WORK/err"
equal "a bad list" "konfiscator: KONFISCATOR_TAG_STACKS=a*b: not a comma-separated \
list of names, each with an optional + or - before it and * after it; the default stays" \
	"$(cat "$WORK/err")"
KONFISCATOR_TAGS_JSON=$WORK/tags.json run_under "$stacks" </dev/null \
	>"$WORK/out"
if "$KF_CLI" tags --stacks "$WORK/tags.json" 2>"$WORK/err"; then
	fail "a snapshot has stacks"
fi
equal "of a snapshot" "konfiscator: tags: $WORK/tags.json: not a stats file" \
	"$(cat "$WORK/err")"
