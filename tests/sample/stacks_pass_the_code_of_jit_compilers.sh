#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Java with -XX:+PreserveFramePointer and Node.js with
# --interpreted-frames-native-stack: a stack leads from the C function that
# allocates through code that was made at run time, and on to what started the
# thread.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs java default-jdk-headless
needs javac default-jdk-headless
needs node nodejs
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"

cat >"$WORK/Main.java" <<'END'
import java.nio.ByteBuffer;
import java.util.*;
public class Main {
	static List<ByteBuffer> kept = new ArrayList<>();
	static int down(int depth) {
		if (depth > 0)
			return down(depth - 1) + 1;
		kept.add(ByteBuffer.allocateDirect(50000));
		return 0;
	}
	public static void main(String[] args) {
		int sum = 0;
		for (int i = 0; i < 2000; i++)
			sum += down(20);
		System.out.println(sum);
	}
}
END
cat >"$WORK/main.js" <<'END'
const kept = [];
function down(depth) {
	if (depth)
		return down(depth - 1) + 1;
	kept.push(Buffer.allocUnsafeSlow(50000));
	return 0;
}
let sum = 0;
for (let i = 0; i < 2000; i++)
	sum += down(20);
console.log(sum);
END

# sampled PROGRAM ARG...: its stacks are in $WORK/out.folded
sampled() {
	rm -rf "$WORK/stats"/*
	KONFISCATOR_SAMPLE=16K run_under env KONFISCATOR_KEEP=1 "$@" >"$WORK/out" ||
		fail "$*: status $?"
	equal "what $1 says" 40000 "$(cat "$WORK/out")"
	"$KF_CLI" report "$WORK/stats/$1".* --metric=alloc -o "$WORK/out.folded" \
		2>"$WORK/err" || fail "report: $(cat "$WORK/err")"
}

# passes PROGRAM BEGIN [LEAF]: fail unless the stacks of the 2000 blocks, which
# have most of all bytes under LEAF, begin as named and have at least five nameless
# calls with named ones on both sides
passes() {
	awk -v begin="$2" -v leaf="$3" '
	{
		bytes = $NF
		all += $0 ~ leaf ? bytes : 0
		calls = split($0, frame, ";")
		nameless = 0
		for (i = 1; i < calls; i++)
			nameless += frame[i] ~ /^0x/
		if ($0 ~ leaf && frame[1] ~ begin && nameless >= 5)
			good += bytes
		else if ($0 ~ leaf && bytes > most) {
			most = bytes
			bad = $0
		}
	}
	END {
		print good, "bytes of", all, "through nameless calls"
		if (good > 80e6)
			exit 0
		print "the largest of the others: " bad
		exit 1
	}' "$WORK/out.folded" || fail "stacks of $1"
}

cd "$WORK"
javac -J-Xshare:auto Main.java || fail "javac failed"
sampled java -XX:+PreserveFramePointer -Xmx256m -cp "$WORK" Main
passes java 'clone|start_thread' 'AllocateMemory'
sampled node --interpreted-frames-native-stack "$WORK/main.js"
passes node . .
