#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Where most memory is in the own heap of Python, Java or node, explain names it
# and the tool that shows it. Python with PYTHONMALLOC=malloc has its objects in
# the heap, and a program without a runtime has no such line.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
needs java default-jdk-headless
needs javac default-jdk-headless
needs node nodejs
workdir
. "$top_srcdir/tests/cli/cli.sh"

# An input without end, for programs that stay until theirs ends.
mkfifo "$WORK/in"
exec 7<>"$WORK/in"

is_ready() {
	grep -q ready "$WORK/said"
}

# begin NAME CMD...: run it until it says that it is ready
begin() {
	name=$1
	shift
	: >"$WORK/said"
	run_under_exec "$@" <&7 >"$WORK/said" 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	wait_for 120 is_ready || fail "$name is not ready: $(cat "$WORK/said")"
	expect 0 cli explain -w 0 -p "$pid"
	cp "$WORK/out" "$WORK/$name"
	runtime=$(cli explain -w 0 --format=json -p "$pid" | jq -r '.[0].runtime')
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
}

# tells LINE WHY: of the program that began last
tells() {
	equal "$name: runtime" "$name" "$runtime"
	head -1 "$WORK/$name" | grep -q ": not the heap$" ||
		fail "$name is called $(head -1 "$WORK/$name")"
	prints "$1"
	prints "$2"
}

list='a = [(str(i), i) for i in range(500000)]
print("ready", flush=True)
import time
time.sleep(1000)'
begin python "$PYTHON3" -c "$list"
tells "python: small objects are in arenas" "; Python's pymalloc maps arenas"

PYTHONMALLOC=malloc
export PYTHONMALLOC
begin python "$PYTHON3" -c "$list"
unset PYTHONMALLOC
equal "runtime" python "$runtime"
! head -1 "$WORK/python" | grep -q ": not the heap$" ||
	fail "python is called $(head -1 "$WORK/python")"
! grep -q "^python: \|pymalloc" "$WORK/python" ||
	fail "objects in the heap are said to be in arenas"

cat >"$WORK/Hold.java" <<'END'
public class Hold {
	static byte[][] held = new byte[64][];
	public static void main(String[] args) throws Exception {
		for (int i = 0; i < held.length; i++)
			held[i] = new byte[1 << 20];
		System.out.println("ready");
		Thread.sleep(1000000);
	}
}
END
javac -d "$WORK" "$WORK/Hold.java" || fail "javac failed"
begin java java -Xmx256m -cp "$WORK" Hold
tells "java: the heap of Java's objects is mapped by the JVM: jcmd $pid" \
	"; Java maps the heap of its objects itself"

begin node node -e 'held = []
for (let i = 0; i < 1000000; i++) held.push({ at: i, name: "n" + i })
console.log("ready")
setTimeout(() => held, 1000000)'
tells "node: the heap of JavaScript is mapped by V8" \
	"; V8 maps the heap of JavaScript itself"

begin heaps "$top_builddir/tests/cli/heaps" outside
equal "heaps: runtime" "" "$runtime"
! grep -q "^java: \|^node: \|^python: " "$WORK/heaps" ||
	fail "a program without a runtime has one"
