#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A forked child and a program that it calls record into files of their own,
# named by %p or by the number appended; none writes to another's.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"
[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"

# python by its own path: a wrapper would be recorded as well. It is to take its
# strings from malloc.
export PYTHONMALLOC=malloc
python=$("$PYTHON3" -c 'import sys; print(sys.executable)')
cat >"$WORK/job.py" <<'EOT'
import os
import sys

sys.stdout.flush()
child = os.fork()
if not child:
    [str(i) * 10 for i in range(10000)]
    if os.fork() == 0:
        os.execvp("ls", ["ls", "/"])
    os.wait()
    os._exit(0)
os.waitpid(child, 0)
[str(i) * 10 for i in range(10000)]
os.execvp("ls", ["ls", "/"])
EOT

look() {
	[ "$#" -eq 5 ] || fail "there are $# files: $*"
	: >"$WORK/pids"
	mallocs=0
	for file; do
		replay "$file"
		is torn 0
		is dropped 0
		is anomalies 0
		[ "$(found events)" -gt 0 ] || fail "$file is empty"
		mallocs=$((mallocs + $(found malloc)))
		found pid >>"$WORK/pids"
	done
	# Two strings a round come from malloc.
	[ "$mallocs" -gt 20000 ] || fail "there are $mallocs mallocs"
	# python and the ls that took its place, the child, and the same of its
	# own child.
	equal "processes" 3 "$(sort -u "$WORK/pids" | wc -l | tr -d ' ')"
}

mkdir "$WORK/plain" "$WORK/named"
recording "$WORK/plain/heap" "$python" "$WORK/job.py" >/dev/null
look "$WORK"/plain/*
[ -f "$WORK/plain/heap" ] || fail "the first has not the plain name"

# Relative to where the program began.
cd "$WORK/named"
recording "heap-%p-%%" "$python" "$WORK/job.py" >/dev/null
look "$WORK"/named/*
for file in "$WORK"/named/*; do
	case $file in
	*/heap-[0-9]*-% | */heap-[0-9]*-%.1) ;;
	*) fail "a file is called $file" ;;
	esac
done
