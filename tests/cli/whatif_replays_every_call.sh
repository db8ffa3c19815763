#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A replay makes the calls of a recording, in as many threads and in the same
# order: a recording of the replay has the same numbers, the same peak, and no
# anomaly. The replayer adds only what starting a thread allocates.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"

cd "$WORK"

# The recording of a replay, which is beside that of the command. `run` itself
# starts no command that is built with a sanitizer: env does.
replay_of() {
	rm -f copy copy.*
	"$KF_CLI" run --record="$WORK/copy" -- env "$KF_CLI" replay "$1" >said
	for kf_file in copy.*; do
		"$KF_CLI" report "$kf_file" | grep -q "^program *konfiscator-rep" ||
			continue
		mv "$kf_file" replayed
		return
	done
	fail "no recording is of the replay: $(ls copy*)"
}

same_calls() {
	replay_of "$1"
	for kf_figure in mallocs aligneds reallocs frees threads; do
		equal "$kf_figure of $1" "$(figure $kf_figure "$1")" \
			"$(figure $kf_figure replayed)"
	done
	equal "anomalies of $1" 0 "$(figure anomalies replayed)"
	kf_want=$(figure peak_live_bytes "$1")
	kf_got=$(figure peak_live_bytes replayed)
	kf_more=$((kf_got - kf_want))
	if [ "$kf_more" -lt 0 ] || [ "$kf_more" -ge "$2" ]; then
		fail "$1: the peak was $kf_want and is $kf_got"
	fi
}

"$KF_CLI" run --record="$WORK/threads" -- \
	"$top_builddir/bench/programs/mstress" 4 8 10000 65536 >/dev/null
same_calls threads 8192
"$KF_CLI" run --record="$WORK/short" -- \
	"$top_builddir/bench/programs/short-threads" 4 500 50 1024 >/dev/null
same_calls short 8192
"$KF_CLI" run --record="$WORK/foreign" -- \
	"$top_builddir/bench/programs/xmalloc" 2 2 5000 16 512 >/dev/null
same_calls foreign 8192
# reallocs, aligned blocks, sizes of 0, failed calls
"$KF_CLI" run --record="$WORK/vectors" -- \
	"$top_builddir/bench/programs/aligned" 1 20000 1000 4096 4096 >/dev/null
same_calls vectors 4096
cat >script <<'END'
from-start
1 100 thread 11
2 100 thread 12
1 1000 malloc 0x10000 100
1 2000 realloc_old 0x10000
2 2500 malloc 0x10000 60
1 3000 realloc 0x20000 300
1 4000 calloc 0x30000 50
2 5000 free 0x30000
1 6000 realloc_old 0x20000
1 7000 realloc! 0x20000 9999999999
2 8000 malloc! 0 99999999999
1 9000 malloc 0x40000 0
1 9500 aligned 0x50000 1000 0 12
2 9600 free 0x50000
2 9650 thread_end
1 9700 realloc_old 0x40000
1 9800 realloc 0x60000 24
END
mkrecording script.rec <script
same_calls script.rec 600
