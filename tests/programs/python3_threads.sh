#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# python3: many short threads, and a queue whose blocks another thread frees.
. "$top_srcdir/tests/programs/same.sh"

needs python3 python3
counts="python3"

job()
{
	PYTHONMALLOC=malloc "${PYTHON3:-python3}" - <<'END'
import queue, threading, zlib
q, total, lock = queue.Queue(64), [0], threading.Lock()
def produce(seed):
    for i in range(1500):
        q.put(bytes([seed]) * (i * 7 % 5000 + 1))
def consume():
    while (item := q.get()) is not None:
        with lock:
            total[0] += zlib.crc32(item)
makers = [threading.Thread(target=produce, args=(i,)) for i in range(4)]
takers = [threading.Thread(target=consume) for _ in range(4)]
for t in makers + takers:
    t.start()
for t in makers:
    t.join()
for _ in takers:
    q.put(None)
for t in takers:
    t.join()
print(total[0])
done = []
for i in range(300):
    t = threading.Thread(target=lambda i=i: done.append([i] * 1000))
    t.start()
    t.join()
print(len(done), sum(d[0] for d in done))
END
}

same_result "$@"
