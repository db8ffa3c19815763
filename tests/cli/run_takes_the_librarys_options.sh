#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each option of the library is a flag, judged before the program runs.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

value_of() {
	case $1 in
	BOOL) echo 1 ;;
	SIZE) echo 1M ;;
	LIMIT) echo 90% ;;
	COUNT) echo 8 ;;
	ENGINE) echo firstfit ;;
	ACTION) echo count ;;
	MATCH) echo '+net*,-net.cache' ;;
	*) echo "$WORK/stats" ;;
	esac
}
nr=0
sed -n 's/^KF_CONF(\([a-z_]*\), \([A-Z]*\),.*/\1 \2/p' \
	"$top_srcdir/src/core/conf.def" >"$WORK/options"
while read -r id kind; do
	flag=--$(echo "$id" | tr _ -)
	name=KONFISCATOR_$(echo "$id" | tr '[:lower:]' '[:upper:]')
	value=$(value_of "$kind")
	[ "$id" != snapshot_signal ] || value=USR2
	# There, as some make files where they are.
	(
		cd "$WORK"
		expect 0 "$KF_CLI" run "$flag" "$value" -- env
	)
	grep -qxF "$name=$value" "$WORK/out" || fail "$flag does not set $name"
	nr=$((nr + 1))
done <"$WORK/options"
[ "$nr" -gt 5 ] || fail "conf.def has only $nr options"

expect 125 cli run --stats 2 -- true
says "--stats: '2' is not 0 or 1"
expect 125 cli run --region 1X -- true
says "is not a number of bytes"
expect 125 cli run --purge-ms -1 -- true
says "is not a number"
expect 125 cli run --engine nope -- true
says "'nope' is not firstfit, "
expect 125 cli run --engine "$WORK/none.so" -- true
says "or the path of a readable file"
expect 125 cli run --tag-stacks 'net*s' -- true
says "--tag-stacks: 'net*s' is not a comma-separated list of names"

# So does the path of an engine.
cp "${KF_LIB%.so}-alone.so" "$WORK/engine.so"
(
	cd "$WORK"
	expect 0 "$KF_CLI" run --engine ./engine.so -- env
)
grep -qxF "KONFISCATOR_ENGINE=$WORK/./engine.so" "$WORK/out" ||
	fail "--engine does not make a path whole"
grep -q 'undefined symbol: konf_engine' "$WORK/err" ||
	fail "what is no engine is not told: $(cat "$WORK/err")"

# The directory means what it meant here, wherever a child starts.
cd "$WORK"
expect 0 "$KF_CLI" run --dir stats -- sh -c 'cd / && sleep 0'
expect 0 cli --format=json ls -n sleep
prints '"sleep"'
expect 0 cli run --name "my server" -- true
expect 0 cli ls -n 'my server'
expect 0 cli run --stats 0 --name none -- true
expect 3 cli ls -n none
