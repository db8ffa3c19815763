#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that misuses guarded blocks and is then ended by SIGKILL leaves the first
# reports in its stats file: post-mortem, explain and the exporter's page show what was
# done, and the access, the allocation and the free with the names of functions, also
# where the report on stderr is lost. Reports that are alike are one, with their number.
# A forked child has its own.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
needs curl curl
workdir
. "$top_srcdir/tests/cli/cli.sh"

program=${top_builddir:?}/tests/guarded/faulty
export KONFISCATOR_SAMPLE=4K KONFISCATOR_GUARD_SLOTS=16 KONFISCATOR_GUARD_RATE=0

# killed KIND SIZE TIMES DISTANCE: what it left is in $file
killed() {
	rm -f "$WORK"/stats/*
	status=0
	run_under "$program" "$@" kill >"$WORK/said" 2>/dev/null || status=$?
	equal "$1: status" 137 "$status"
	file=$(echo "$WORK"/stats/faulty.*)
	cli post-mortem --format=json "$file" >"$WORK/told" ||
		fail "$1: post-mortem ended with $?"
	jq .guard_reports "$WORK/told" >"$WORK/reports"
}

# has FILTER: of the first report
has() {
	jq -e ".[0] | $1" "$WORK/reports" >/dev/null || fail "$1: $(cat "$WORK/reports")"
}

killed after-free-write 64 2000 1
has '.kind == "use after free" and .access == "read" and .late == false and .block_bytes == 64'
has '.done.stack | test("^misuse < main < ")'
has '.allocated.stack | test("^made < misuse < main < ")'
has '.freed.stack | test("^unmade < misuse < main < ")'
has '.done.tid == .freed.tid and .done.tid == .allocated.tid and .done.tid > 0'
has '(.address | startswith("0x")) and .address != .block'
cli stat --format=json "$file" >"$WORK/counts"
equal "times" "$(jq '[.. | .guard_uses_after_free? // empty] | first' "$WORK/counts")" \
	"$(jq 'map(.times) | add' "$WORK/reports")"
equal "alike" 1 "$(jq length "$WORK/reports")"

# For people, by both commands.
for command in post-mortem 'explain -w 0'; do
	# shellcheck disable=SC2086 # the words of a command
	cli $command "$file" >"$WORK/text"
	for line in \
		'^guard report: use after free: read of 0x[0-9a-f]*, 32 bytes inside the block 0x[0-9a-f]* of 64 bytes, thread [0-9]*$' \
		'^  [0-9]* times with the same stacks$' \
		'^  done by thread [0-9]*: misuse < main < ' \
		'^  allocated by thread [0-9]*: made < misuse < main < ' \
		'^  freed by thread [0-9]*: unmade < misuse < main < '; do
		grep -q "$line" "$WORK/text" || fail "$command: no $line: $(cat "$WORK/text")"
	done
done
equal "explain --format=json" "$(jq -c . "$WORK/reports")" \
	"$(cli explain -w 0 --format=json "$file" | jq -c '.[0].guard_reports')"

# The reports are no samples: profiles have none of their stacks.
cli report --metric=count --format=json "$file" >"$WORK/profile"
jq -e 'any(.group == "made") and all(.group != "unmade")' "$WORK/profile" >/dev/null ||
	fail "not the samples alone: $(cat "$WORK/profile")"

# An overflow that the free found has no free, and the stack is the free's.
killed overflow-write 20 2000 1
has '.kind == "overflow" and .access == "write" and .late and .freed == null'
has '.done.stack | test("^unmade < (misuse < )?main < ")'
cli post-mortem "$file" | grep -q '^  found when it was freed by thread [0-9]*: unmade < ' ||
	fail "not late"

killed underflow-read 64 2000 1
has '.kind == "underflow" and .freed == null and (.done.stack | test("^reads < misuse < "))'
cp "$file" "$WORK/underflow"

# The child's reports are the child's, the parent's the parent's.
rm -f "$WORK"/stats/*
KONFISCATOR_KEEP=1 run_under "$program" overflow-read 64 2000 1 fork >"$WORK/said" 2>/dev/null ||
	fail "fork: ended with $?"
for file in "$WORK"/stats/faulty.*; do
	cli post-mortem --format=json "$file" | jq -r '[.guard_reports[].kind] | join(",")'
done | sort >"$WORK/kinds"
equal "kinds of both" "overflow
use after free" "$(cat "$WORK/kinds")"

# The page of a process that lives. Who may not write stderr loses nothing.
rm -f "$WORK"/stats/*
mkfifo "$WORK/in"
run_under_exec "$program" after-free-read 64 2000 1 wait <"$WORK/in" >"$WORK/said" 2>/dev/null &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
exec 7>"$WORK/in"
wait_for 20 grep -q " done" "$WORK/said" || fail "faulty does not end its rounds"
"$KF_EXPORTER" --web.listen-address=127.0.0.1:0 --stats.state-file= \
	--stats.dir="$WORK/stats" >"$WORK/exporter" 2>&1 &
exporter=$!
at_exit "kill $exporter 2>/dev/null"
address() {
	address=$(sed -n 's/.*\(127\.0\.0\.1:[1-9][0-9]*\).*/\1/p' "$WORK/exporter" | head -n 1)
	[ -n "$address" ]
}
wait_for 20 address || fail "the exporter does not listen: $(cat "$WORK/exporter")"
link() {
	curl -sS "http://$address/" >"$WORK/overview"
	link=$(sed -n 's|.*"\(/process/[0-9a-f]*\)".*|\1|p' "$WORK/overview" | head -n 1)
	[ -n "$link" ]
}
wait_for 20 link || fail "no link to the process: $(cat "$WORK/overview")"
curl -sS -f "http://$address$link" >"$WORK/page" || fail "no page: $(cat "$WORK/exporter")"
for text in 'Misuse of guarded blocks' 'use after free: read of 0x' 'done by thread' \
	'<code>reads <' '<code>made <' '<code>unmade <'; do
	grep -q "$text" "$WORK/page" || fail "the page has no $text: $(cat "$WORK/page")"
done
exec 7>&-
