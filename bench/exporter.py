#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The exporter beside a crowd of processes that come and go: how long a scrape
takes, what it costs, and how it stands many clients at once (by wrk). Fails
where a client saw an error, or where memory goes on growing."""

import argparse
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

# Processes of a user with files in one directory: the library allows 1792.
CROWD = 1500

OPEN_FILES = 65536  # as the service has it

# Memory that may come in the second half of the time: pieces of the heap that
# clients happen to need at once, in KiB. A leak of a page for each answer is
# more, when it goes on for half a minute.
GROWTH = 24 * 1024


def parse():
    p = argparse.ArgumentParser(prog="exporter.py", allow_abbrev=False,
                                description=__doc__)
    p.add_argument("--library", metavar="PATH", required=True)
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--processes", metavar="N", type=int, default=1000)
    p.add_argument("--names", metavar="N", type=int, default=50,
                   help="that they go by (50)")
    p.add_argument("--every", metavar="MS", type=int, default=0,
                   help="one is replaced each so many ms (0: none)")
    p.add_argument("--scrapes", metavar="N", type=int, default=20,
                   help="by one client, before the many (20)")
    p.add_argument("--clients", metavar="N", type=int, default=64)
    p.add_argument("--seconds", metavar="N", type=int, default=0,
                   help="that they go on (0: no clients)")
    return p.parse_args()


def begin(args, directory, preload, number):
    """A crowd of so many processes, when all of it is there."""
    command = [os.path.join(args.build, "bench/crowd"), str(number),
               str(args.names)] + ([str(args.every)] if args.every else [])
    crowd = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(
            os.environ, LD_PRELOAD=preload, KONFISCATOR_DIR=directory))
    if crowd.stdout.readline() != b"ready\n":
        sys.exit("exporter.py: the crowd did not begin")
    return crowd


def begin_all(args, directory):
    """The crowds, and their directories."""
    preload = os.path.join(directory, "lib.so")
    os.symlink(os.path.abspath(args.library), preload)
    crowds, dirs, left = [], [], args.processes
    while left:
        number = min(left, CROWD)
        dirs.append(os.path.join(directory, "stats%d" % len(dirs)))
        os.mkdir(dirs[-1])
        crowds.append(begin(args, dirs[-1], preload, number))
        left -= number
    return crowds, dirs


class Exporter:
    def __init__(self, args, dirs, state):
        self.process = subprocess.Popen(
            [os.path.join(args.build, "konfiscator_exporter"),
             "--web.listen-address=127.0.0.1:0", "--web.max-requests=0",
             "--stats.state-file=" + state] +
            ["--stats.dir=" + d for d in dirs],
            stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"msg=listening.*:(\d+)\b", line)
            if found:
                break
        else:
            sys.exit("exporter.py: the exporter did not begin")
        self.url = "http://127.0.0.1:%s/metrics" % found[1]
        threading.Thread(target=self.process.stderr.read,
                         daemon=True).start()

    def processes(self):
        """How many the page has."""
        with urllib.request.urlopen(self.url) as answer:
            text = answer.read().decode()
        return sum(int(n) for n in re.findall(
            r"^konfiscator_processes\{.*\} (\d+)$", text, re.M))

    def scrape(self):
        request = urllib.request.Request(
            self.url, headers={"Accept-Encoding": "gzip"})
        start = time.monotonic()
        with urllib.request.urlopen(request) as answer:
            size = len(answer.read())
        return time.monotonic() - start, size

    def of_proc(self, name):
        with open("/proc/%d/%s" % (self.process.pid, name),
                  encoding="utf-8") as f:
            return f.read()

    def memory(self, what="VmRSS"):
        return int(re.search(what + r":\s+(\d+)", self.of_proc("status"))[1])

    def seconds(self):
        fields = self.of_proc("stat").rsplit(")", 1)[1].split()
        return ((int(fields[11]) + int(fields[12])) /
                os.sysconf("SC_CLK_TCK"))


def one_client(args, exporter):
    exporter.scrape()
    before = exporter.seconds()
    all_scrapes = [exporter.scrape() for _ in range(args.scrapes)]
    times = sorted(t for t, _ in all_scrapes)
    print("scrape, ms: %.1f least, %.1f median, %.1f most" % (
        times[0] * 1e3, statistics.median(times) * 1e3, times[-1] * 1e3))
    print("processor time of a scrape, ms: %.1f" % (
        (exporter.seconds() - before) / args.scrapes * 1e3))
    print("compressed page, bytes: %d" % all_scrapes[-1][1])
    print("memory at most, MiB: %.1f" % (exporter.memory("VmHWM") / 1024))


def many_clients(args, exporter):
    """Return: what is wrong, or nothing."""
    wrk = subprocess.Popen(
        ["wrk", "-t2", "-c%d" % args.clients, "-d%ds" % args.seconds,
         "--latency", "--timeout", "60s", exporter.url],
        stdout=subprocess.PIPE, text=True)
    memory = []
    while wrk.poll() is None:
        memory.append(exporter.memory())
        time.sleep(0.1)
    text = wrk.stdout.read()
    done = re.search(r"(\d+) requests in", text)
    p99 = re.search(r"99%\s+(\S+)", text)
    middle = len(memory) // 2
    first, second = max(memory[:middle]), max(memory[middle:])
    print("clients: %d, answers: %s, 99 %% within %s" % (
        args.clients, done and done[1], p99 and p99[1]))
    print("memory, MiB: %.1f at most in the first half, %.1f in the second" % (
        first / 1024, second / 1024))
    if wrk.returncode or not done or int(done[1]) < 1:
        return "no answers:\n" + text
    if re.search("Socket errors|Non-2xx", text):
        return "clients saw errors:\n" + text
    if second > first + GROWTH:
        return "memory grows"
    return ""


def raise_limit():
    """Return: how many files the exporter may have open, the service's number
    where this may be set."""
    hard = max(resource.getrlimit(resource.RLIMIT_NOFILE)[1], OPEN_FILES)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return hard


def measure(args, exporter, crowds):
    """Return: what is wrong, or nothing."""
    found = exporter.processes()
    print("processes: %d, open files at most: %d" % (found, raise_limit()))
    # one of each crowd may be on its way
    if found < args.processes - (len(crowds) if args.every else 0):
        return "processes are missing"
    one_client(args, exporter)
    wrong = many_clients(args, exporter) if args.seconds else ""
    exporter.process.send_signal(signal.SIGTERM)
    if exporter.process.wait():
        wrong = wrong or "the exporter failed"
    return wrong


def main():
    args = parse()
    raise_limit()
    with tempfile.TemporaryDirectory(prefix="kf-crowd.") as directory:
        crowds, dirs = begin_all(args, directory)
        exporter = Exporter(args, dirs, os.path.join(directory, "state"))
        try:
            wrong = measure(args, exporter, crowds)
        finally:
            exporter.process.kill()
            exporter.process.wait()
            for crowd in crowds:
                crowd.stdin.close()
            for crowd in crowds:
                crowd.wait()
    if wrong:
        sys.exit("exporter.py: " + wrong)


if __name__ == "__main__":
    main()
