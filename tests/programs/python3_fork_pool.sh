#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# python3: a pool of forked workers, made while a thread allocates.
. "$top_srcdir/tests/programs/same.sh"

needs python3 python3
counts="python3"

job()
{
	PYTHONMALLOC=malloc "${PYTHON3:-python3}" - <<'END'
import multiprocessing, threading
def work(n):
    return sum(len(str(i) * 3) for i in range(n))
stop = threading.Event()
def churn():
    while not stop.is_set():
        [bytes(i) for i in range(500)]
t = threading.Thread(target=churn)
t.start()
fork = multiprocessing.get_context("fork")
for _ in range(3):
    with fork.Pool(4) as pool:
        print(sum(pool.map(work, range(300))))
stop.set()
t.join()
END
}

same_result "$@"
