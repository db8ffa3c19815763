#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# ms_print reads the massif export; the log and the trace of many threads
# replay without an anomaly, line by line, as heaphook's analyzer does it, and
# come to the same peak; json and csv are good.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"
needs ms_print valgrind
[ "$PYTHON3" != none ] || skip "python3 is not installed"

cd "$WORK"
mkrecording small <"$top_srcdir/tests/cli/report.script"
mkrecording large --random 1000000 500 4 >/dev/null

for name in small large; do
	report -o $name.massif $name
	ms_print $name.massif >printed || fail "ms_print does not read $name"
	grep -q '(peak)' printed || fail "ms_print sees no peak in $name"
	peak=$(figure peak_live_bytes $name)
	grep "(heap allocation functions)" printed | tr -d , | grep -q "(${peak}B)" ||
		fail "ms_print's peak of $name is not $peak"
	for format in log trace csv json; do
		report --export=$format $name >$name.$format
	done
	cat >replay.py <<-'END'
	import csv, json, sys
	name, peak, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

	def replay(events):
	    live, now, most = {}, 0, 0
	    for old, new, size in events:
	        if old:
	            now -= live.pop(old)
	        if new:
	            assert new not in live, "alloc after alloc"
	            live[new] = size
	            now += size
	        most = max(most, now)
	    assert (most, now) == (peak, end), (most, now, peak, end)

	def log():
	    for line in open(name + ".log"):
	        hook, addr, size, new = line.split()
	        addr, size, new = int(addr, 16), int(size), int(new, 16)
	        if hook == "free":
	            yield addr, 0, 0
	        elif hook == "realloc":
	            yield addr, new, size
	        else:
	            assert hook in ("malloc", "calloc", "memalign"), hook
	            yield 0, addr, size

	def trace():
	    for line in open(name + ".trace"):
	        w = line.rstrip("\n").split(", ")
	        if w[0] == "alloc":
	            yield 0, int(w[3], 16), int(w[1])
	        elif w[0] == "alloc_zeroed":
	            yield 0, int(w[2], 16), int(w[1])
	        elif w[0] == "realloc":
	            yield int(w[1], 16), int(w[3], 16), int(w[2])
	        else:
	            assert w[0] == "dealloc", w
	            yield int(w[1], 16), 0, 0

	replay(log())
	replay(trace())
	rows = list(csv.DictReader(open(name + ".csv")))
	objects = json.load(open(name + ".json"))
	assert len(rows) == len(objects) > 10
	for row, o in zip(rows, objects):
	    assert row.keys() == o.keys()
	    assert all(row[k] == str(o[k] if k != "failed" else int(o[k])) for k in row)
	assert sum(o["function"] == "malloc" and not o["failed"] for o in objects) == int(sys.argv[4])
	END
	"$PYTHON3" replay.py $name "$peak" "$(figure live_bytes $name)" \
		"$(figure mallocs $name)" || fail "the exports of $name differ"
done
