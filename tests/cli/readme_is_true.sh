#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What README.md shows is what is printed: the program of the first example gets
# the verdict, the parts and the stack that are shown; tables have the columns
# that are shown; and each command and option that is named exists.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs python3 python3
workdir
. "$top_srcdir/tests/cli/cli.sh"
readme=$top_srcdir/README.md
cd "$WORK"

# shown COMMAND: the lines that README shows below "$ konfiscator COMMAND"
shown() {
	awk -v command="    \$ konfiscator $1" '
		on && !/^    / && NF { exit }
		on { print substr($0, 5) }
		index($0, command) == 1 { on = 1 }' "$readme"
}

# The program, and why it is so big.
awk '/app\.py/ && !on { on = 1; next } on && /^    / { code = 1; print substr($0, 5) }
	code && NF && !/^    / { exit }' "$readme" >app.py
"$KF_CLI" run --python --sample=64K --dir="$WORK/stats" -- "$PYTHON3" app.py &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
has_file() {
	[ -n "$(find "$WORK/stats" -name "*.$pid.*")" ]
}
wait_for 60 has_file || fail "app.py has no stats file"
sleep 3
cli explain -p "$pid" >said
shown 'explain' >example
equal "verdict" "$(sed -n '1s/.*: //p' example)" "$(sed -n '1s/.*: //p' said)"
# The parts that are shown, in this order.
parts() {
	sed -n '/^PART/,/^resident/s/  \+[0-9-].*//p' "$1"
}
equal "parts" "$(parts example)" "$(parts said)"
equal "columns of stacks" "$(grep '^ *LIVE.*STACK' example | xargs)" \
	"$(grep '^ *LIVE.*STACK' said | xargs)"
stack_of() {
	sed -n '/LIVE.*STACK$/{n;s/.*  \(handle[^<]*\) <.*/\1/p;}' "$1"
}
[ -n "$(stack_of example)" ] || fail "README shows no stack"
equal "first stack" "$(stack_of example)" "$(stack_of said)"

# Tables of other commands: the columns.
cli stat -p "$pid" | head -n 1 >said
equal "columns of stat" "$(shown stat | head -n 1 | xargs)" "$(xargs <said)"
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
rm -f "$WORK/stats"/*
run_under_exec sleep 600 &
pid=$!
wait_for 60 has_file || fail "sleep has no stats file"
cli stat --by=thread -p "$pid" | head -n 1 >said
equal "columns of threads" "$(shown 'stat --by=thread' | head -n 1 | xargs)" \
	"$(xargs <said)"
cli doctor >said || true
equal "columns of doctor" "$(shown doctor | head -n 1 | xargs)" \
	"$(head -n 1 said | xargs)"
shown doctor | awk 'NR > 1 && NF { print $1 }' >checks
while read -r check; do
	grep -q "^$check " said || fail "doctor has no check $check"
done <checks
kill -9 "$pid"
wait "$pid" 2>/dev/null || true

# Each command and option that a line of code or `code` names.
{
	grep '^    ' "$readme" | sed 's/[|;&]/\n/g'
	# shellcheck disable=SC2016 # code in the text
	grep -o '`konfiscator [^`]*`' "$readme" | tr -d '`'
} | sed -n 's/^ *\(\$ \)\{0,1\}konfiscator \([a-z].*\)/\2/p' >commands
[ "$(wc -l <commands)" -gt 20 ] || fail "README names too few commands"
while read -r command rest; do
	case $command in
	NAME | konfiscator*) continue ;;
	esac
	"$KF_CLI" help "$command" >options || fail "README: konfiscator $command $rest"
	for word in ${rest%%#*}; do
		case $word in
		--) break ;;
		--*)
			name=${word%%=*}
			grep -qe " $name\>" options ||
				fail "README: konfiscator $command has no $name"
			;;
		esac
	done
done <commands
