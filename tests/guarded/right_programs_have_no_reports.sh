#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that do nothing wrong have no report and print the same, with as many
# guarded blocks as there can be: also those with a handler of their own.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

KONFISCATOR_SAMPLE=4K KONFISCATOR_GUARD_SLOTS=64 KONFISCATOR_GUARD_RATE=0
export KONFISCATOR_SAMPLE KONFISCATOR_GUARD_SLOTS KONFISCATOR_GUARD_RATE

# same NAME COMMAND...: skipped where the command is not installed
same() {
	name=$1
	shift
	command -v "$1" >/dev/null 2>&1 || return 0
	status=0
	"$@" >"$WORK/without" 2>&1 || status=$?
	rm -f "$WORK"/stats/*
	was=0
	run_under "$@" >"$WORK/with" 2>&1 || was=$?
	equal "$name: status" "$status" "$was"
	equal "$name: output" "$(cat "$WORK/without")" "$(cat "$WORK/with")"
	"$KF_CLI" stat --format=json "$WORK"/stats/* |
		grep -q '"guarded": *[1-9]' || fail "$name: none was guarded"
	echo "$name" >>"$WORK/ran"
}

same python3 "${PYTHON3:?}" -c '
import json, zlib, threading, re
def work():
    text = json.dumps([{"key%d" % i: "value" * (i % 50)} for i in range(2000)])
    zlib.decompress(zlib.compress(text.encode()))
    re.findall("key[0-9]+", text)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print("done")'
# Its handler prints the stack, then lets the default action end the program.
same faulthandler "${PYTHON3:?}" -X faulthandler -c '
import faulthandler, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
x = [str(i) * 20 for i in range(20000)]
child = subprocess.run([sys.executable, "-X", "faulthandler", "-c", """
x = [str(i) * 20 for i in range(20000)]
import ctypes
ctypes.string_at(0)
"""], stderr=subprocess.PIPE, text=True)
print(child.returncode, child.stderr.splitlines()[0])'
same node node -e '
const code = new Uint8Array([0,97,115,109,1,0,0,0,1,6,1,96,1,127,1,127,3,2,1,0,
	5,3,1,0,1,7,5,1,1,102,0,0,10,9,1,7,0,32,0,40,2,0,11]);
const f = new WebAssembly.Instance(new WebAssembly.Module(code)).exports.f;
let traps = 0, sum = 0;
for (let i = 0; i < 20000; i++) {
	sum += JSON.stringify({a: "x".repeat(i % 100)}).length;
	try { f(-4 - i * 4096); } catch (e) { traps++; }
}
console.log(traps, sum);'
if command -v java >/dev/null 2>&1 && command -v javac >/dev/null 2>&1; then
	cat >"$WORK/Nulls.java" <<'END'
class Nulls {
	int field;
	static int read(Nulls n) { return n.field; }
	public static void main(String[] args) {
		int nulls = 0;
		for (int i = 0; i < 200000; i++) {
			try {
				read(i % 10 == 0 ? null : new Nulls());
			} catch (NullPointerException e) {
				nulls++;
			}
		}
		System.out.println(nulls);
	}
}
END
	(cd "$WORK" && javac Nulls.java)
	same java java -Xcheck:jni -cp "$WORK" Nulls
fi
# shellcheck disable=SC2016 # it is perl's
same perl perl -e '
my %h; $h{$_ % 1000} .= "x" x ($_ % 100) for 1 .. 100000;
my $n = 0; $n += length for values %h; print "$n\n";'
same sqlite3 sqlite3 :memory: 'CREATE TABLE t(a, b);
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
	WHERE i < 50000) INSERT INTO t SELECT i, hex(i) || i FROM n;
	SELECT count(*), sum(length(b)) FROM t;'
# A child of vfork has the handler of its parent.
same make make -s -f "$top_srcdir/tests/guarded/children.mk" -j4
same gcc gcc -O2 -x c -S -o /dev/null "$top_srcdir/tests/guarded/handlers.c"
[ "$(wc -l <"$WORK/ran")" -ge 3 ] || fail "only $(cat "$WORK/ran") ran"
