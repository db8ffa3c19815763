# SPDX-License-Identifier: LGPL-2.1-or-later
"""A process that was there at the last scrape takes so many system calls, and
so many bytes read, in the next one: what does not change is not asked again."""

import os
import re
import subprocess

import kftest

PROCESSES = 60

# Open, fstat, close of the file, and a pread each of its head, of what it counts,
# and of its words again; open, read and close of comm and of statm; the clock of
# the thread's work, of which each user has a share; every eighth time a look at exe.
CALLS = 13 + 1 / 8

# Of its head and what it counts, and 200 bytes of procfs.
BYTES = 20 * 1024


def crowd(world):
    """Live processes with stats files of the library's."""
    preload = world.path("lib.so")
    os.symlink(os.environ["KF_LIB"], preload)
    process = world.run(
        os.path.join(os.environ["top_builddir"], "bench/crowd"),
        str(PROCESSES), "2", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=dict(os.environ, LD_PRELOAD=preload,
                 KONFISCATOR_DIR=world.stats))
    assert process.stdout.readline() == b"ready\n"
    return process


def traced(world, log, scrapes):
    """System calls and bytes read of an exporter that is asked so often."""
    e = world.exporter("--web.max-requests=0", "--history.every=1h",
                       prefix=("strace", "-f", "-qq", "-o", log))
    for _ in range(scrapes):
        page = e.scrape()
        assert sum(v for (n, _), v in page.samples.items()
                   if n == "konfiscator_processes") >= PROCESSES
    # strace goes on as long as its child does
    child = subprocess.run(["pgrep", "-P", str(e.process.pid)], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    os.kill(int(child), 15)
    e.process.wait(kftest.PATIENCE)
    calls = nr_bytes = 0
    with open(log, encoding="utf-8", errors="replace") as f:
        for line in f:
            # one that was interrupted by another thread's is told twice
            calls += "resumed>" not in line
            found = re.search(r"\b(?:pread64|read)\b.* = (\d+)$", line)
            nr_bytes += int(found[1]) if found else 0
    return calls, nr_bytes


def a_process_takes_few_calls(world):
    kftest.need("strace")
    kftest.need("pgrep")
    if subprocess.run(["strace", "-o", world.path("log"), "true"],
                      check=False).returncode:
        raise kftest.Skip("strace may not trace here")
    crowd(world)
    few = traced(world, world.path("few"), 2)
    more = traced(world, world.path("more"), 10)
    calls, nr_bytes = ((b - a) / 8 / PROCESSES for a, b in zip(few, more))
    print("calls: %.2f, bytes: %.0f" % (calls, nr_bytes))
    # and those of the scrape itself, some 100 for all of its processes
    assert calls < CALLS + 3, calls
    assert nr_bytes < BYTES + 1024, nr_bytes


kftest.main(a_process_takes_few_calls)
