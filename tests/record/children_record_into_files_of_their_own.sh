#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A forked child and a program that it calls record into files of their own,
# named by %p or by the number appended; none writes to another's. The last
# program of a process has the name that the process was given.
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
program_of() {
	"$KF_CLI" report "$1" | sed -n 's/^program *\([^,]*\),.*/\1/p'
}
equal "what has the plain name" ls "$(program_of "$WORK/plain/heap")"
for file in "$WORK"/plain/heap.*; do
	echo "$(program_of "$file")" "${file##*/}"
done >"$WORK/others"
# Before its process became ls, the child's, and of the child's child before.
equal "recordings of python" 3 "$(grep -c '^python' "$WORK/others")"
equal "recordings of the child's ls" 1 "$(grep -Ec '^ls heap\.[0-9]+$' "$WORK/others")"

# Not of the same process, and no recording at all: neither is touched.
for other in "$WORK/plain/heap" "$WORK/job.py"; do
	mkdir "$WORK/taken"
	cp "$other" "$WORK/taken/heap"
	recording "$WORK/taken/heap" "$python" -c pass
	cmp "$other" "$WORK/taken/heap" || fail "$other gave its name away"
	equal "files beside $other" 2 "$(find "$WORK/taken" -type f | wc -l)"
	rm -r "$WORK/taken"
done

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
