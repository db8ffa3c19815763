#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Programs run beside libfaketime, which defines clock_gettime() and allocates in
# it: the library reads the C library's clock, so that the program alone sees
# another time, whichever is named first, and with each engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

needs faketime faketime
[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"
other=$(find /usr/lib /usr/lib64 -name libfaketimeMT.so.1 2>/dev/null |
	head -n 1)
[ -n "$other" ] || skip "libfaketimeMT.so.1 is missing (package libfaketime)"

cat >"$WORK/job.py" <<'END'
import threading, time
def work():
    for i in range(300):
        bytes(i * 1000)
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("in", time.gmtime(time.time()).tm_year, "threads", len(threads))
END

# run PRELOAD: prints what the job prints
run() {
	FAKETIME="2001-02-03 04:05:06" LD_PRELOAD=$1 timeout -k 9 60 \
		"$PYTHON3" "$WORK/job.py" 2>&1 ||
		echo "status $? of LD_PRELOAD=$1"
}

wanted="in 2001 threads 4"
equal "without the library" "$wanted" "$(run "$other")"
for engine in $(engine_names); do
	export KONFISCATOR_ENGINE="$engine"
	equal "before libfaketime, engine $engine" "$wanted" \
		"$(run "$KF_PRELOAD:$other")"
	equal "behind libfaketime, engine $engine" "$wanted" \
		"$(run "$other:$KF_PRELOAD")"
done
unset KONFISCATOR_ENGINE
export KONFISCATOR_RECORD="$WORK/%p.rec" KONFISCATOR_SAMPLE=4K
equal "recorded and sampled" "$wanted" "$(run "$other:$KF_PRELOAD")"
