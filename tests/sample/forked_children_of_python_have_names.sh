#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stacks of forked children have the Python functions of the children and those of
# their parents: os.fork(), a fork in a fork, and multiprocessing.
#
# python3, and python3.8 to python3.14 and those of $PYTHONS where they are.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs python3 python3
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/sample/pythons.sh
. "$top_srcdir/tests/sample/pythons.sh"
cd "$WORK"

cat >forks.py <<'END'
import multiprocessing, os, sys
kept = []

def keep():
    for i in range(50):
        kept.append(bytes(102000))

def of_parent():
    keep()

def of_child():
    keep()

def of_grandchild():
    keep()

def of_process():
    keep()
    wait("process")

def wait(kind):
    os.write(1, b"%s %d\n" % (kind.encode(), os.getpid()))
    os.close(ends[1])
    os.read(ends[0], 1)

ends = os.pipe()
of_parent()
if not os.fork():
    of_child()
    if not os.fork():
        of_grandchild()
        wait("grandchild")
        os._exit(0)
    wait("child")
    os.wait()
    os._exit(0)
process = multiprocessing.get_context("fork").Process(target=of_process)
process.start()
os.write(1, b"parent %d\n" % os.getpid())
sys.stdin.read()
os.close(ends[1])
process.join()
os.wait()
END

# has KIND FUNCTION...: the process has 50 blocks of each, and of no other one
has() {
	kind=$1
	shift
	pid=$(sed -n "s/^$kind //p" said)
	expect 0 cli report -o out.folded "$pid"
	for function in of_parent of_child of_grandchild of_process; do
		wanted=0
		case " $* " in *" $function "*) wanted=50 ;; esac
		equal "$version: $kind: blocks of $function" "$wanted" \
			"$(grep "[; ]$function (forks.py.*;keep (forks.py:6)" out.folded |
				awk '{ n += $NF } END { print int(n / 102000) }')"
	done
}

tried=
pythons >found
while read -r version path <&9; do
	rm -rf "$WORK/stats"/* lines
	mkfifo lines
	run_under_exec env KONFISCATOR_SAMPLE=4K "$path" forks.py <lines >said &
	main=$!
	exec 4>lines
	at_exit "kill $main 2>/dev/null"
	for kind in parent child grandchild process; do
		wait_for 120 grep -q "^$kind " said || fail "$version: no $kind"
	done
	has parent of_parent
	has child of_parent of_child
	has grandchild of_parent of_child of_grandchild
	has process of_parent of_process
	exec 4>&-
	wait "$main" || fail "$version ended with status $?"
	tried="$tried $version"
done 9<found
[ -n "$tried" ] || skip "there is no CPython 3.8 to 3.14"
echo "tried: $tried"
