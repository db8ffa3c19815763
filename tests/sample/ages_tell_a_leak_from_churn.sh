#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# report --view=ages tells a leak from churn, from a slow cache and from what
# came at the start; it knows how long blocks lived and whether another thread
# freed them: of a running process, of its file when it has ended, of a profile,
# with each block counted and by samples. A forked child has its parent's ages.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
program=$top_builddir/tests/sample/ages
cd "$WORK"

# look FILE: read it, for the following questions
look() {
	at=$1
	"$KF_CLI" report --view=ages --format=json "$1" >rows 2>told ||
		fail "no report of $1: $(cat told)"
	! grep "no age" told || fail "ages are missing in $1"
}

# of FUNCTION EXPRESSION: of the row whose blocks it allocated
of() {
	jq -r --arg name "$1" "def freed: [to_entries[] |
			select(.key | test(\"freed_to_.*_bytes\")) | .value] | add;
		def live: [to_entries[] |
			select(.key | test(\"live_to_.*_bytes\")) | .value] | add;
		map(select(.stack | startswith(\$name + \" <\"))) | .[0] | $2" rows
}

# is FUNCTION EXPRESSION TEXT
is() {
	equal "$1, $2, in $at" "$3" "$(of "$1" "$2")"
}

kinds() {
	is leaked .kind grows
	is churned .kind churns
	is cached .kind churns
	is kept .kind stays
	is handed .kind churns
}

# A second of life is more than a tenth of three, so that old blocks are seen
# to die.
mkfifo orders answers
KONFISCATOR_SAMPLE=1 run_under_exec "$program" 4 1.2 <orders >answers &
pid=$!
at_exit "kill $pid 2>/dev/null"
exec 7>orders 8<answers
read -r _ nr_leaked nr_churned nr_cached nr_handed live_cached <&8
"$KF_CLI" record -p "$pid" --interval 0.1 -o recorded 2>recorder \
	7>&- 8<&- &
recorder=$!
wait_for 60 test -s recorded || fail "no profile: $(cat recorder)"

# ages FILE: all that is known of it
ages() {
	look "$1"
	kinds
	is leaked .live_samples "$nr_leaked"
	is leaked .live_samples_with_age "$nr_leaked"
	is leaked .live_bytes $((nr_leaked * 4096))
	is leaked .error_95 0
	is leaked live $((nr_leaked * 4096))
	is leaked freed 0
	is leaked '.oldest_seconds >= 3.9 and .mean_seconds > 1 and
		.mean_seconds < .oldest_seconds * 0.95' true
	is cached live $((live_cached * 4096))
	is cached freed $(((nr_cached - live_cached) * 4096))
	is cached .freed_to_1s_bytes 0
	is cached .foreign_percent 0
	is churned freed $((nr_churned * 4096))
	is churned .foreign_percent 0
	is churned '.short_percent > 80' true
	is handed freed $((nr_handed * 4096))
	is handed .freed_percent 100
	is handed .foreign_percent 100
}

file=$(echo "$KONFISCATOR_DIR"/ages.*)
ages "$file"
# As time passes only ages change.
before=$(of leaked .oldest_seconds)
sleep 1
look "$file"
is leaked ".oldest_seconds >= $before + 1" true
ages recorded

# The child frees the cache, and has all the rest from its parent.
echo >&7
read -r answer <&8
equal "the child's answer" child "$answer"
child=
for f in "$KONFISCATOR_DIR"/ages.*; do
	[ "$f" = "$file" ] || child=$f
done
look "$child"
is leaked .live_samples_with_age "$nr_leaked"
is leaked .live_bytes $((nr_leaked * 4096))
is cached .live_samples 0
is cached freed $((live_cached * 4096))
is cached .foreign_percent 0
is churned . null

exec 7>&-
wait "$pid" || fail "the program ended with $?"
wait "$recorder" || fail "the recorder ended with $?: $(cat recorder)"
ages "$file"
ages recorded
expect 0 cli report --view=ages recorded
head -n 1 out | grep -q '^KIND .*LIVE .*OLDEST .*FOREIGN%' ||
	fail "no table: $(cat out)"
sed -n 2p out | grep -q '^grows .* leaked < rounds < main' ||
	fail "the leak is not the first row: $(cat out)"
"$KF_CLI" report -o sites.json recorded 2>/dev/null
equal "spans of a site" "10 0.001 null" "$(jq -r '.sites[0].ages.spans |
	"\(length) \(.[0].below) \(.[9].below)"' sites.json)"

# By samples there is an interval, and the verdicts are the same.
rm -f "$KONFISCATOR_DIR"/ages.*
KONFISCATOR_SAMPLE=16K run_under "$program" 4 1.2 </dev/null >said ||
	fail "the sampled program ended with $?"
read -r _ nr_leaked _ <said
file=$(echo "$KONFISCATOR_DIR"/ages.*)
look "$file"
kinds
is leaked ".error_95 > 0 and .live_to_10s_error_95 > 0 and
	(.live_bytes - $nr_leaked * 4096 | fabs) < 3 * .error_95" true
