#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Control bytes, quotes and invalid UTF-8 in names reach no terminal and break
# no format.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

sleeper
esc=$(printf '\033')
bad=$(printf 'a"b,c\\d\n%s[31mx\377y' "$esc")
mkstats "$WORK/stats/1" pid="$pid" name="$bad" blocks=16:1:0 start=0
mkstats "$WORK/stats/$(printf 'f\n%sg' "$esc")" pid="$pid" name=ok

for command in ls "stat -a" "stat -a --by=thread"; do
	for format in table csv json; do
		# shellcheck disable=SC2086 # words are meant
		expect 0 cli --format=$format $command
		if grep -q "$esc" "$WORK/out"; then
			fail "$command as $format lets an escape through"
		fi
		prints '1b[31mx'
		iconv -f UTF-8 -t UTF-8 "$WORK/out" >/dev/null ||
			fail "$command as $format is no UTF-8"
	done
done
expect 0 cli --format=json stat -a
"$PYTHON3" - "$WORK/out" <<'END' || fail "JSON is broken"
import json, sys
names = [r["process"] for r in json.load(open(sys.argv[1]))]
assert 'a"b,c\\d\\x0a\\x1b[31mx\\xffy' in names, names
END
expect 0 cli --format=csv stat -a
"$PYTHON3" - "$WORK/out" <<'END' || fail "CSV is broken"
import csv, sys
names = [r["process"] for r in csv.DictReader(open(sys.argv[1]))]
assert 'a"b,c\\d\\x0a\\x1b[31mx\\xffy' in names, names
END
expect 0 cli --format=prom stat -a
prints 'process="a\"b,c\\d\\x0a\\x1b[31mx\\xffy"'
if [ "$PROMTOOL" != none ]; then
	"$PROMTOOL" check metrics <"$WORK/out" || fail "promtool refuses it"
fi
