#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stacks have the calls of Python functions, as Python itself has them: recursion,
# generators, comprehensions, class bodies, callbacks of C, exceptions, threads,
# asyncio, code of strings, names that are not ASCII. The first line of report,
# explain and the page is the line of Python that allocates most, with the
# allocator of Python and without it, from a live process and from a profile.
#
# python3, and python3.8 to python3.14 and those of $PYTHONS where they are.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
needs python3 python3
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/sample/pythons.sh
. "$top_srcdir/tests/sample/pythons.sh"
here=$top_srcdir/tests/sample
cd "$WORK"

# begin PYTHON [OPTION=VALUE...] SCRIPT: until descriptor 4 is closed
begin() {
	python=$1
	shift
	rm -rf "$WORK/stats"/* lines said
	mkfifo lines
	: >said
	run_under_exec env PYTHONIOENCODING=utf-8 "$@" <lines >said &
	pid=$!
	exec 4>lines
	at_exit "kill $pid 2>/dev/null"
	wait_for 120 grep -q '^ready' said || fail "$python did not begin"
}
end() {
	exec 4>&-
	wait "$pid" || fail "$python ended with status $?"
}

# Each piece of code may be where the one before was, that is freed.
cat >again.py <<'END'
import sys
kept = []
for i in range(200):
    exec(compile("\n" * (i % 7) + "kept.append(bytes(100000))",
                 "again%d" % (i // 2), "exec"))
print("ready", flush=True)
sys.stdin.read()
END
i=0
while [ "$i" -lt 200 ]; do
	echo "(again$((i / 2)):$((i % 7 + 1)))"
	i=$((i + 1))
done | sort >again

compared=
pythons >found
while read -r version path <&9; do
	begin "$path" PYTHONMALLOC=malloc KONFISCATOR_SAMPLE=16K \
		KONFISCATOR_STACK_FRAMES=1024 "$path" "$here/shapes.py"
	expect 0 cli report --raw --no-fold --metric=live -o live.json "$pid"
	expect 0 cli record --duration=0.1 -o kept.profile "$pid"
	end
	"$PYTHON3" "$here/check_shapes.py" said live.json ||
		fail "$version: the stacks of the process differ"
	! grep -q 'lack calls' err || fail "$version: $(cat err)"
	expect 0 cli report --raw --no-fold --metric=live --at=0 \
		-o kept.json kept.profile
	"$PYTHON3" "$here/check_shapes.py" said kept.json ||
		fail "$version: the stacks of the profile differ"
	begin "$path" KONFISCATOR_SAMPLE=1K "$path" again.py
	expect 0 cli report --format=csv --rows=0 "$pid"
	end
	grep -o '(again[0-9]*:[0-9]*)' out | sort -u | diff again - ||
		fail "$version: names of code that was freed"
	compared="$compared $version"
	one=$path
done 9<found
[ -n "$compared" ] || skip "there is no CPython 3.8 to 3.14"
echo "compared: $compared"

cat >app.py <<'END'
import asyncio, sys, threading
import leaky

def serve():
    for i in range(300):
        leaky.remember(i)

async def answer():
    for i in range(100):
        await asyncio.sleep(0)
        leaky.remember(i)

def work():
    return [str(i) * 10 for i in range(1000)]

serve()
t = threading.Thread(target=serve)
t.start()
t.join()
asyncio.run(answer())
for i in range(200):
    work()
print("ready", flush=True)
sys.stdin.read()
END
cat >leaky.py <<'END'
cache = {}

def remember(i):
    key = len(cache)
    cache[key] = [i] * 3000
END
for malloc in malloc pymalloc; do
	begin python3 "PYTHONMALLOC=$malloc" KONFISCATOR_SAMPLE=64K \
		python3 app.py
	expect 0 cli report --format=csv "$pid"
	sed -n 2p out | grep -q 'remember (leaky.py:5)' ||
		fail "$malloc: report begins with $(sed -n 2p out)"
	expect 0 cli report --leaks --format=csv "$pid"
	sed -n 2p out | grep -q ',remember (leaky.py:5) < ' ||
		fail "$malloc: leaks begin with $(sed -n 2p out)"
	grep -q 'remember (leaky.py:5) < answer (app.py:11)' out ||
		fail "$malloc: no stack of asyncio"
	grep -q 'remember (leaky.py:5) < serve (app.py:6) < Thread.run\|remember (leaky.py:5) < serve (app.py:6) < .*run (threading.py' out ||
		fail "$malloc: no stack of the thread"
	expect 0 cli explain -w 0 "$pid"
	# After those that mapped memory past malloc.
	sed -n '/ LIVE .* STACK$/,$p' out | grep -m 1 ' < ' >first ||
		fail "$malloc: explain names no stack"
	grep -q 'remember (leaky.py:5)' first ||
		fail "$malloc: the stacks of explain begin with $(cat first)"
	expect 0 cli report -o page.html "$pid"
	grep -o '<summary>[^<]*' page.html | grep -v 'As a table' >calls
	head -n 1 calls | grep -q '^<summary>remember' ||
		fail "$malloc: the page begins with $(head -n 1 calls)"
	expect 0 cli report -o out.folded "$pid"
	grep -q ';serve (app.py:6);remember (leaky.py:5)' out.folded ||
		fail "$malloc: not in folded stacks"
	expect 0 cli report --raw "$pid" --format=csv
	! sed -n 2p out | grep -q '^[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,remember' ||
		fail "--raw leaves out the interpreter"
	end
done

# The stats file has room for 8191 places; from then on the evaluator stays.
cat >many.py <<'END'
import sys
kept = []
for i in range(9000):
    code = compile("kept.append(bytes(100000))", "place%d" % i, "exec")
    exec(code)
    kept.append(code)
print("ready", flush=True)
sys.stdin.read()
END
begin python3 KONFISCATOR_SAMPLE=1K KONFISCATOR_SAMPLE_STACKS=20000 \
	python3 many.py
expect 0 cli record --duration=0.1 -o many.profile "$pid"
for of in "$pid" many.profile; do
	expect 0 cli report "$of"
	lost=$(grep -o '[0-9]* samples lack calls of Python: ' err)
	lost=${lost%% *}
	if [ "${lost:-0}" -lt 800 ] || [ "$lost" -gt 2500 ]; then
		fail "$of: samples that lack calls: '$lost': $(cat err)"
	fi
	expect 0 cli report --format=csv --rows=0 "$of"
	grep -q 'place7000:1' out || fail "$of: a place that had room is lost"
	! grep -q 'place8999:1' out || fail "$of: there was no room"
done
expect 0 cli explain -w 0 "$pid"
grep -q "samples lack calls of Python" out || fail "explain does not say so"
end

# Objects that Python keeps in arenas of its own are in no profile.
cat >small.py <<'END'
kept = [(i, i + 1) for i in range(300000)]
END
expect 0 cli run --python --sample=4K --keep=1 --name=all -- "$one" small.py
expect 0 cli report -a -n all --format=csv
sed -n 2,3p out | grep -q '(small.py:1)' ||
	fail "run --python: report begins with $(sed -n 2p out)"
