#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each test of suite.txt runs a program that is built or a workload that is
# there; each of these is in the suite; each workload says what it needs.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir

bench --source "$top_srcdir" --build "$top_builddir" --list >"$WORK/list"
# Columns: name, group, command and arguments.
missing=$(grep ' is not built)$' "$WORK/list" || true)
equal "tests without a program" "" "$missing"
sed 1d "$WORK/list" | awk '{ print $3 }' | sort -u >"$WORK/commands"
[ -s "$WORK/commands" ] || fail "the suite is empty"

for path in "$top_srcdir"/bench/workloads/*; do
	name=${path##*/}
	case $name in
	*.sh) ;;
	*) continue ;;
	esac
	grep -qxF "$name" "$WORK/commands" ||
		fail "workload $name is in no test of suite.txt"
	[ -x "$path" ] || fail "workload $name cannot be executed"
	grep -Eq '^# needs: [^ ]+ [a-z0-9.+-]+$' "$path" ||
		fail "workload $name does not say what it needs"
done
for path in "$top_builddir"/bench/programs/*; do
	name=${path##*/}
	case $name in
	*.*) continue ;;
	esac
	if [ -f "$path" ] && [ -x "$path" ]; then
		grep -qxF "$name" "$WORK/commands" ||
			fail "program $name is in no test of suite.txt"
	fi
done

# The rule against a suite that has what is not there.
plant_suite
echo 'planted synthetic kf-no-such-program' >"$SUITE/suite.txt"
bench_planted --list | grep -q '(kf-no-such-program is not built)$' ||
	fail "a test without a program is not told"
for line in 'short synthetic' 'name nogroup command' \
	'planted real twice'; do
	echo "$line" >"$WORK/line"
	cat "$SUITE/suite.txt" "$WORK/line" >"$WORK/suite"
	status=0
	bench --suite "$WORK/suite" --list >/dev/null 2>"$WORK/err" || status=$?
	equal "status of '$line'" 2 "$status"
	grep -q 'suite:2: ' "$WORK/err" || fail "no line: $(cat "$WORK/err")"
done
