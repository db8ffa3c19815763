#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Compiled methods of a running java have names once jcmd has written its map for
# perf, and after its end if it was recorded.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs java openjdk-17-jdk-headless
needs javac openjdk-17-jdk-headless
needs jcmd openjdk-17-jdk-headless
workdir
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"
cat >Leak.java <<'END'
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

public class Leak {
	static List<ByteBuffer> keep = new ArrayList<>();

	static void allocate()
	{
		keep.add(ByteBuffer.allocateDirect(4000));
	}

	public static void main(String[] args) throws Exception
	{
		for (int i = 0; i < 20000; i++)
			allocate();
		System.out.println("done");
		System.in.read();
	}
}
END
javac Leak.java || fail "no program"
hold env KONFISCATOR_SAMPLE=64K LD_PRELOAD="$KF_PRELOAD" \
	java -XX:+PreserveFramePointer -cp . Leak
map=/tmp/perf-$program.map
at_exit "rm -f $map"
jcmd "$program" Compiler.perfmap >jcmd.out 2>&1 || {
	cat jcmd.out
	skip "this java writes no map: jcmd PID Compiler.perfmap (Java 17 or newer)"
}

has() {
	cli report -o out.folded "$1" || fail "no report"
	grep -q "$2" out.folded || fail "$1: no stack has '$2': $(cat out.folded)"
}

calls='Leak.allocate.*java.nio.DirectByteBuffer.*Unsafe_AllocateMemory0'
has "$(echo stats/java."$program".*)" "$calls"
expect 0 "$KF_CLI" record -p "$program" -o prof --duration 0.1
release
rm -f "$map"
has prof "$calls"
