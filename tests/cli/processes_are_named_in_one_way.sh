#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A process is its number, -p, -n or its stats file in every command that takes
# one. A number that is a file is the file; one of no process is told in a line,
# with the processes that there are. A wrong value of a setting is refused before
# it is sent; an order that an idle process does not take stays, or is withdrawn
# with --wait; the settings of now are listed.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"
cd "$WORK"
mkfifo lines made

cat >server.py <<'END'
import sys
kept = []
print(0, flush=True)
for line in sys.stdin:
    kept += [bytearray(5000) for i in range(int(line))]
    print(len(kept), flush=True)
END
run_under_exec env KONFISCATOR_NAME=wanted KONFISCATOR_SAMPLE=1 \
	PYTHONMALLOC=malloc "$PYTHON3" server.py <lines >made &
server=$!
at_exit "kill $server 2>/dev/null"
exec 4>lines 5<made
read -r _ <&5
file=$(echo "$WORK"/stats/*".$server."*)
make_blocks() {
	echo "$1" >&4
	read -r _ <&5
}

for process in "$server" "-p $server" "-n wanted" "$file"; do
	for command in stat ls "explain -w 0" report events tags "top --batch=1"; do
		case $command:$process in
		tags:* | events:/*) continue ;;
		esac
		# shellcheck disable=SC2086 # options and their arguments
		expect 0 cli $command $process
		grep -q . "$WORK/out" || fail "$command $process shows nothing"
	done
done
expect 0 cli tags "$server"
expect 0 cli stat --format=json "$server"
equal "processes" 1 "$(jq length out)"
expect 0 cli record --duration=0.2 -o named -n wanted
expect 0 cli record --duration=0.2 -o numbered "$server"
expect 0 cli diff named "$server"
expect 0 cli ctl -n wanted

# What is there is named where nothing fits.
for command in stat ls "explain -w 0" report events tags ctl record; do
	# shellcheck disable=SC2086
	[ "$command" = ls ] || {
		expect 3 cli $command 2147483000
		says "${command%% *}:"
		says "there is no process 2147483000"
		says "$server (wanted)"
	}
done
expect 3 cli report -n nothing
says "no process matches"
says "$server (wanted)"
expect 3 cli stat -p 1
says "process 1 has no stats file"
expect 3 cli stat -p "$server" -u 4000000000
says "no process matches"
expect 1 cli report missing --metric=live
says "missing: No such file"
echo "no profile" >"$server.not"
cp named "$server"
expect 0 cli report --view=summary --format=json "$server"
grep -q '"ended"' out || fail "a file of that name is not the file: $(cat out)"
rm "$server"
expect 2 cli stat "$server.not"
says "is neither a process number nor a stats file"
expect 2 cli stat "$server" "$file"
says "a stats file cannot be combined with process numbers"
expect 2 cli report "$server" named
says "give one file, or select one process"

# Orders
expect 2 cli ctl "$server" sample=abc
says "sample: 'abc' is not default, off, 0, 1, or from 1K to 1T"
expect 2 cli ctl "$server" sample=5
now() {
	"$KF_CLI" ctl --format=json "$server" |
		jq -r --arg setting "$1" '.[] | select(.setting == $setting).now'
}
equal "samples now" 1 "$(now sample)"
equal "recording now" off "$(now record)"
# It waits in read(2) and has not the least to do.
expect 0 cli ctl "$server" sample=4K
says "sample=4K is pending: it takes effect at the next slow path of process $server"
expect 0 cli ctl "$server" sample=8K
says "this replaces the order 'sample=4K', which the process had not taken yet"
equal "samples before it is taken" 1 "$(now sample)"
make_blocks 200
equal "samples after it was taken" 8K "$(now sample)"
expect 1 cli ctl "$server" sample=64K --wait=1
says "the order is withdrawn"
make_blocks 200
equal "samples after an order that was withdrawn" 8K "$(now sample)"
"$KF_CLI" ctl "$server" --wait=60 "record=$WORK/all" >told 2>&1 &
order=$!
# It may take a while until the order is there.
while kill -0 "$order" 2>/dev/null; do
	sleep 0.2
	make_blocks 200
done
wait "$order" || fail "an order that was waited for: $(cat told)"
equal "recording then" on "$(now record)"
exec 4>&-
