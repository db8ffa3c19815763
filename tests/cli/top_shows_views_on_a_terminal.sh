#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# konfiscator top under a real terminal: each key does what the help says, the
# screen follows the terminal's size, names of any letters are shown whole, and
# the terminal is as it was after q and after each signal. Elsewhere it prints
# tables.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs tmux tmux
workdir
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/cli/profile.sh
. "$top_srcdir/tests/cli/profile.sh"
LC_ALL=C.UTF-8
export LC_ALL KF_CLI

# A program with a heap, samples and a name that needs a wide screen.
mkfifo "$WORK/in"
KONFISCATOR_NAME='größe 名前' KONFISCATOR_SAMPLE=64K KONFISCATOR_TAG=all \
	run_under_exec "$top_builddir/tests/cli/heaps" fragment \
	<"$WORK/in" >"$WORK/ready" &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
exec 7>"$WORK/in"
wait_for 300 grep -q ready "$WORK/ready" || fail "the program is not ready"

# Each has a server of its own: the one before may still be ending.
nr=0
terminal() {
	tmux -S "$WORK/tmux.$nr" -u -f /dev/null "$@"
}

shows() {
	terminal capture-pane -p >"$WORK/screen"
	grep -qE -e "$1" "$WORK/screen"
}

# shown PATTERN: wait until the screen has it
shown() {
	wait_for 60 shows "$1" || {
		cat "$WORK/screen"
		fail "the screen does not show '$1'"
	}
}

# press KEY PATTERN: and wait for what it brings
press() {
	terminal send-keys "$1"
	shown "$2"
}

cat >"$WORK/in-terminal" <<'EOF'
stty -a >"$WORK/before"
echo "there before"
echo $$ >"$WORK/shell"
"$KF_CLI" --dir="$WORK/stats" top -i 0.2
echo "status $?"
stty -a >"$WORK/after"
exec sleep 1000
EOF

# on_terminal: begin anew
on_terminal() {
	rm -f "$WORK/after"
	nr=$((nr + 1))
	terminal new-session -d -x 110 -y 24 \
		"WORK='$WORK' exec sh '$WORK/in-terminal'"
	shown "^konfiscator top .* process"
}

# restored STATUS
restored() {
	shown "^status $1"
	shown "^there before"
	wait_for 60 test -s "$WORK/after" || fail "stty says nothing"
	cmp -s "$WORK/before" "$WORK/after" ||
		fail "the terminal changed: $(diff "$WORK/before" "$WORK/after")"
	terminal kill-server
}

# selected PATTERN: the line in reverse video has it
selected() {
	terminal capture-pane -p -e | grep "$(printf '\033')\\[[0-9;]*7m" |
		grep -v '^.*processes.*tags' | grep -qE -e "$1"
}

width() {
	LC_ALL=C.UTF-8 awk '{ if (length > n) n = length } END { print n }' \
		"$WORK/screen"
}

at_exit "terminal kill-server 2>/dev/null"
on_terminal
shown '^PROCESS +PID  THREADS '
shown "^größe 名前 +$pid "
press 2 '^PROCESS +TAG '
shown '^größe 名前 +all '
press 3 '^PROCESS +PID +TID  THREAD'
press 4 '^PROCESS +PID .* STACK'
shown 'fill < main'
press 5 '^ *SIZE +LIVE '
shown '^ *256 .* 1\.6% '
press 1 '^PROCESS +PID  THREADS '
press Tab '^PROCESS +TAG '
press BTab '^PROCESS +PID  THREADS '
press BTab '^ *SIZE +LIVE '

# the largest live bytes are first; then the largest size; turned, the smallest
first_size() {
	terminal capture-pane -p | awk 'NR == 4 { print $1 }' | grep -qx "$1"
}
wait_for 60 first_size 256 || fail "it is not sorted by live bytes"
terminal send-keys '<'
wait_for 60 first_size '[0-9.]*Ki' || fail "< does not sort by size"
terminal send-keys r
wait_for 60 first_size 16 || fail "r does not reverse the order"
press h 'Shift-Tab  the next view'
press x '^ *SIZE +LIVE '

# paused, the clock stands; the screen goes with the terminal
press Space '  paused'
paused=$(head -n 1 "$WORK/screen")
terminal resize-window -x 46 -y 9
small() {
	shows '^konfiscator top' && [ "$(width)" -le 46 ] &&
		[ "$(wc -l <"$WORK/screen")" = 9 ] &&
		sed -n 9p "$WORK/screen" | grep -q '^1-5 view'
}
wait_for 60 small || fail "it is not 46 wide: $(cat "$WORK/screen")"
terminal resize-window -x 110 -y 24
large() {
	shows 'SLABS' && sed -n 24p "$WORK/screen" | grep -q 'q quit'
}
wait_for 60 large || fail "it did not grow again: $(cat "$WORK/screen")"
equal "the paused head" "$paused" "$(head -n 1 "$WORK/screen")"
terminal send-keys Space
goes_on() {
	! shows '  paused'
}
wait_for 60 goes_on || fail "it stays paused"

# Enter leads from a process to its sites, from a site to all of its calls
press 1 '^PROCESS +PID  THREADS '
press Enter "  of $pid\$"
shown 'fill < main'
press Enter '^ +1  fill \(.*heaps'
shown '^ +2  main \('
shown '^PROCESS größe 名前  PID'
shown '^Esc back'
calls=$(grep -c '^ *[0-9][0-9]*  ' "$WORK/screen")
[ "$calls" -ge 3 ] || fail "the stack has $calls calls"
terminal resize-window -x 110 -y 6
shown "^1 of $calls  Esc back"
press End "^ +$calls  "
shown "^[0-9]+ of $calls  Esc back"
press Home '^ +1  fill'
terminal resize-window -x 110 -y 24
press Escape 'fill < main'

# t makes the sites a tree of calls, and a list again
press t "  [-] größe 名前 $pid\$"
shown '  OF-ALL  '
shown '^Esc back  left right close, open  t list'
press t 'fill < main'
press t '  OF-ALL  '
press Escape 'fill < main'
press Escape '^PROCESS +PID  THREADS '
grep -q "  of $pid" "$WORK/screen" && fail "Esc does not go back"

# a shell, and a program below it: the tree, and rows with a text alone
run_under_exec sh -c 'sleep 1000; :' </dev/null >/dev/null &
shell=$!
at_exit "kill -9 $shell 2>/dev/null"
shown '^sleep '
below=$(pgrep -P "$shell")
at_exit "kill -9 $below 2>/dev/null"
press t '^  sleep '
below() {
	terminal capture-pane -p | grep -A 1 '^sh ' | grep -q '^  sleep '
}
wait_for 60 below || fail "sleep is not below its shell"
press t '^sleep '
press / '^filter: _  Enter keep'
terminal send-keys -l 'SLEEx'
shown '^no row has this text'
press BSpace '^filter: SLEE_ '
alone() {
	shows '^sleep ' && ! shows '^größe'
}
wait_for 60 alone || fail "the filter leaves other rows"
press Enter '^filter: SLEE  Esc clear'
shown '  filtered$'
press Escape '^größe 名前 '
press / '^filter: _'
terminal send-keys -l '名前'
shown '^filter: 名前_'
wait_for 60 shows '^größe' || fail "the filter knows no wide letters"
press BSpace '^filter: 名_'
press Escape '^1-5 view'
press Down '^sh|^sleep'

# click COLUMN LINE, from 0: as a terminal tells of it, pressed and released
click() {
	at=$(printf '\\%o\\%o' $(($1 + 33)) $(($2 + 33)))
	# shellcheck disable=SC2059
	terminal send-keys -l "$(printf "\\033[M $at\\033[M#$at")"
}
# on a view, on the heading of a column and once more, on a row and once more
click 24 1
shown '^PROCESS +PID +TID  THREAD'
click 2 1
shown '^PROCESS +PID  THREADS '
order() {
	terminal capture-pane -p | awk 'NR > 3 && NR < 7 { printf "%s ", $1 }' |
		grep -qx "$1"
}
click 2 2
wait_for 60 order 'größe sh sleep ' || fail "it is not sorted by name: $(terminal capture-pane -p)"
click 2 2
wait_for 60 order 'sleep sh größe ' || fail "a click does not reverse: $(terminal capture-pane -p)"
click 2 5
click 2 5
shown "  of $pid\$"
press BSpace '^PROCESS +PID  THREADS '
terminal send-keys q
restored 0
kill -9 "$shell" "$below"

# Known stacks: branches by their live bytes, of each process apart. cache has
# allocated more than leaky, and freed most of it.
heaps=$pid
exec 9>&7
stacks_begin
stacks leaky 40000000 0 64
stacks cache 90000000 80000000 4096
stacks inlined 30000000 10000000 512
on_terminal
press 4 '^PROCESS +PID .* STACK'
press t "^.*  [+] mkstacks $pid\$"
shown "  [+] größe 名前 $heaps\$"
press Right "  [-] mkstacks $pid\$"
calls_add_up() {
	terminal capture-pane -p | awk '
		/  [-] set \(/ { all = $1 + 0 }
		/  [+] take_frames \(/ {
			wrong += nr++ && $1 + 0 > last
			last = $1 + 0
			sum += last
		}
		END { exit !(nr == 3 && !wrong && all - sum < 0.2 && sum - all < 0.2) }'
}
wait_for 60 calls_add_up || {
	terminal capture-pane -p
	fail "the branches are not those of mkstacks"
}
terminal send-keys Home Down Down Down Down Down Down Down
wait_for 60 selected 'take_frames' || fail "the largest branch is not the first"
press Right '  [-] take_frames .*:138'
shown ' leaky \('
terminal send-keys Right
wait_for 60 selected ' leaky \(' || fail "right does not lead to the call below"
terminal send-keys Left
wait_for 60 selected ' take_frames \(.*:138' || fail "left does not lead to the caller"
press Left '  [+] take_frames .*:138'
shows ' leaky \(' && fail "a call below a closed one is shown"
press Enter '  [-] take_frames .*:138'
press Enter '  [+] take_frames .*:138'
terminal send-keys q
restored 0
exec 7>&-
wait "$pid" || fail "mkstacks failed"
exec 7>&9 9>&-
pid=$heaps

# signals; the shell's own children are the only ones that are meant
for signal in TERM:143 INT:130 HUP:129 QUIT:131; do
	on_terminal
	child=$(cat "/proc/$(cat "$WORK/shell")/task/$(cat "$WORK/shell")/children")
	kill -"${signal%:*}" "${child% }"
	restored "${signal#*:}"
done

# a terminal without a screen, one that is not known
nr=$((nr + 1))
terminal new-session -d -x 110 -y 24 "TERM=dumb '$KF_CLI' \
	--dir='$WORK/stats' top; TERM=none '$KF_CLI' --dir='$WORK/stats' top; \
	echo status \$?; exec sleep 1000"
shown '^processes at '
shown "^konfiscator: top: unknown terminal type 'none': set TERM, or print a table with --batch=1"
shown '^status 1'
terminal kill-server

# no terminal: tables
expect 0 cli top
prints '  PID  THREADS     LIVE'
equal "lines of a table" 3 "$(wc -l <"$WORK/out")"
expect 0 cli top --view=sizes --batch=3 -i 0.1
equal "tables" 3 "$(grep -c '^sizes at ' "$WORK/out")"
equal "heads" 3 "$(grep -c 'SIZE .*HALF-EMPTY  FILLED  SLABS' "$WORK/out")"
expect 0 cli top --view=sites --sort=pid --no-header
prints 'fill < main < '
expect 3 cli top -n nobody
says "top: no process runs under konfiscator"
expect 2 cli top --view=heaps
says "'heaps' is not one of processes, tags, threads, sites, sizes"
expect 2 cli top --sort=color
says "top: --sort: 'color' is not one of process, pid, threads, live"
expect 2 cli top --batch=0
says "top: --batch: '0' is not a number from 1"
expect 2 cli top --interval=0
expect 2 cli top x
says "'x' is neither a process number nor a stats file"
