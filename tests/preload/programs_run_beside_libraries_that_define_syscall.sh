#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Programs run beside torsocks and libuid_wrapper, which define syscall() and
# allocate in it, whichever is named first, and with each engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

needs torsocks torsocks

# no child here, as torsocks says more in each
cat >"$WORK/job.py" <<'END'
import os, threading
def work():
    for i in range(300):
        bytes(i * 1000)
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("user", os.getuid(), "threads", len(threads))
END

# run PRELOAD: prints what the job prints
run() {
	UID_WRAPPER=1 UID_WRAPPER_ROOT=1 LD_PRELOAD=$1 timeout -k 9 60 \
		"${PYTHON3:-python3}" "$WORK/job.py" 2>&1 ||
		echo "status $? of LD_PRELOAD=$1"
}

ran=0
for other in /usr/lib/*/torsocks/libtorsocks.so /usr/lib/*/libuid_wrapper.so; do
	[ -e "$other" ] || continue
	without=$(run "$other")
	for engine in $(engine_names); do
		export KONFISCATOR_ENGINE="$engine"
		equal "library before ${other##*/}, engine $engine" \
			"$without" "$(run "$KF_PRELOAD:$other")"
		equal "library behind ${other##*/}, engine $engine" \
			"$without" "$(run "$other:$KF_PRELOAD")"
	done
	unset KONFISCATOR_ENGINE
	ran=$((ran + 1))
done
[ "$ran" -eq 2 ] || skip "libuid_wrapper is missing (package libuid-wrapper)"
# torsocks itself, a script, puts its library behind what there is.
equal "torsocks" hi "$(LD_PRELOAD=$KF_PRELOAD timeout -k 9 60 \
	torsocks /bin/echo hi)"
[ -n "$(ls "$WORK/stats")" ] || fail "no program left a stats file"
