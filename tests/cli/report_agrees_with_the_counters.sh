#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The recording of a program with eight threads replays without an anomaly; its
# counts, what is live at its end and the peak held are those of the stats
# file; and the program runs in a pool of the size that was suggested.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"
[ "$PYTHON3" != none ] || skip "python3 is not installed"

cd "$WORK"
cat >job.py <<'END'
import threading

left = [[] for i in range(8)]

def work(n):
    for i in range(3000):
        left[n].append(bytes((i * 37) % 5000 + 100))
        if i > 200:
            try:
                # another thread's, mostly
                left[(n + i) % 8].pop(0)
            except IndexError:
                pass

threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
END
export PYTHONMALLOC=malloc
KONFISCATOR_RECORD=$WORK/rec run_under "$PYTHON3" job.py
cli --format=json stat -a >stat.json

# counter NAME
counter() {
	sed -n "s/^ *\"$1\": \(.*[^,]\),\{0,1\}$/\1/p" stat.json
}

# agree FIGURE COUNTER
agree() {
	equal "$1" "$(counter "$2")" "$(figure "$1" rec)"
}

equal "anomalies" 0 "$(figure anomalies rec)"
equal "dropped events" 0 "$(figure dropped_events rec)"
equal "damaged chunks" 0 "$(figure damaged_chunks rec)"
equal "threads" 9 "$(figure threads rec)"
agree frees frees
agree callocs calloc_calls
agree aligneds aligned_calls
agree reallocs realloc_calls
agree failed failed
agree live_blocks live_blocks
agree peak_held_bytes peak_held
[ "$(figure frees rec)" -gt 20000 ] || fail "the program freed too little"
made=$(($(figure mallocs rec) + $(figure callocs rec) +
	$(figure aligneds rec) + $(counter realloc_new)))
equal "blocks made" "$(counter mallocs)" "$made"

pool=$(figure suggested_pool_bytes rec)
KONFISCATOR_ENGINE=tlsf KONFISCATOR_TLSF_INITIAL=$pool \
	run_under "$PYTHON3" job.py 2>grown
equal "growth of a pool as suggested" "" "$(cat grown)"
KONFISCATOR_ENGINE=tlsf KONFISCATOR_TLSF_INITIAL=$((pool / 4)) \
	run_under "$PYTHON3" job.py 2>grown
[ -s grown ] || fail "a quarter of the pool is enough as well"
