# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a hostile test runs: memory in many threads, children, an exit status.

Prints the same in every run. Says "ready" while threads allocate and waits for
the file GO before it goes on, so that a test can do harm in the meantime.
"""
import hashlib
import os
import subprocess
import sys
import threading
import time

STATUS = 3


def digest(seed):
    sizes = [(seed * 7919 + i * 104729) % 3000 + 1 for i in range(300)]
    blocks = [bytes([i % 251]) * n for i, n in enumerate(sizes)]
    blocks.append(bytes(300000 + seed))
    return hashlib.sha256(b"".join(blocks)).hexdigest()[:16]


def wait_for(path):
    """Four threads allocate all the while."""
    done = threading.Event()

    def busy(seed):
        while not done.is_set():
            digest(seed)

    threads = [threading.Thread(target=busy, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    print("ready", flush=True)
    while not os.path.exists(path):
        time.sleep(0.01)
    done.set()
    for t in threads:
        t.join()


def crowd(nr):
    """So many threads at once, each with a heap of its own."""
    barrier = threading.Barrier(nr)
    result = [None] * nr

    def one(i):
        barrier.wait()
        result[i] = digest(i)
        barrier.wait()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(nr)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("crowd", hashlib.sha256("".join(result).encode()).hexdigest())


def child():
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        print("child", digest(1), flush=True)
        os._exit(7)
    print("status of the child", os.waitpid(pid, 0)[1])


def command():
    r = subprocess.run(["sh", "-c", "echo a command; exit 5"],
                       stdout=subprocess.PIPE, check=False)
    print("status of the command", r.returncode, r.stdout)


def main():
    print("alone", digest(0), flush=True)
    wait_for(sys.argv[1])
    child()
    crowd(40)
    child()
    command()
    print("the end", file=sys.stderr)
    sys.exit(STATUS)


main()
