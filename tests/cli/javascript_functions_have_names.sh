#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Functions of JavaScript have names in the stacks of a running node, from its map
# for perf or from its jitdump file, and after its end if it was recorded.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs node nodejs
workdir
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
cat >leak.js <<'END'
const keep = [];
function growNative() {
  for (let i = 0; i < 40; i++) keep.push(Buffer.allocUnsafeSlow(20000));
}
function callGrow() {
  growNative();
}
for (let j = 0; j < 50; j++) callGrow();
console.log('done');
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
END

# begin OPTION...
begin() {
	hold env KONFISCATOR_SAMPLE=64K LD_PRELOAD="$KF_PRELOAD" node \
		--interpreted-frames-native-stack "$@" leak.js
	map=/tmp/perf-$program.map
	at_exit "rm -f $map"
	stats=$(echo stats/node."$program".*)
}

end() {
	release
	rm -f "$map"
}

# has FILE REGEX: a stack that matches
has() {
	cli report -o out.folded "$1" || fail "no report"
	grep -q "$2" out.folded ||
		fail "$1: no stack has '$2': $(grep Allocate out.folded)"
}

calls='callGrow [^;]*leak.js:5[^;]*;[^;]*growNative [^;]*leak.js:2[^;]*;.*AllocateUninitialized'
begin --perf-basic-prof
has "$stats" "$calls"
expect 0 "$KF_CLI" record -p "$program" -o prof --duration 0.1
end
has prof "$calls"

begin --perf-prof
has "$stats" "$calls"
end
