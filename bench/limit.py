#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program whose threads cache memory in turn, in a memory cgroup that has room
for what it uses: whether the kernel kills it, under every allocator, and under
the library with KONFISCATOR_LIMIT. Needs the right to make a memory cgroup."""

import argparse
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure
import peers
import tables
from suite import die, start

MIB = 1 << 20
LIMITED = "konfiscator, KONFISCATOR_LIMIT="


def parse():
    p = argparse.ArgumentParser(prog="limit.py", allow_abbrev=False,
                                description=__doc__)
    peers.add_options(p, ratios=False)
    p.add_argument("--memory", metavar="MIB", type=peers.positive, default=256,
                   help="limit of the cgroup (256)")
    p.add_argument("--live", metavar="MIB", type=peers.positive, default=160,
                   help="most that a thread allocates (160)")
    p.add_argument("--share", metavar="SHARE", default="90%",
                   help="value of KONFISCATOR_LIMIT (90%%)")
    p.add_argument("--rounds", metavar="N", type=peers.positive, default=5,
                   help="runs of the program (5)")
    p.add_argument("--markdown", metavar="FILE", help="save the table")
    return p.parse_args()


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as f:
        return f.read()


class Cgroup:
    """A memory cgroup below our own, of the version that has the controller."""

    def __init__(self, limit):
        found = re.search(r"^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(.*)$",
                          read("/proc/self/cgroup"), re.M)
        self.v1 = bool(found)
        found = found or re.search(r"^0::(.*)$", read("/proc/self/cgroup"), re.M)
        kind = r"cgroup \S+ (?:\S*,)?memory(?:,|$)" if self.v1 else "cgroup2 "
        mount = re.search(r"^(?:\S+ ){4}(\S+) .* - " + kind,
                          read("/proc/self/mountinfo"), re.M)
        if not found or not mount:
            die("there is no cgroup of memory here")
        self.path = mount[1] + found[1]
        if not os.path.isdir(self.path):
            self.path = mount[1]
        self.path = os.path.join(self.path, "konfiscator-bench-%d" % os.getpid())
        try:
            os.mkdir(self.path)
            self.write("memory.limit_in_bytes" if self.v1 else "memory.max",
                       limit)
        except OSError as e:
            self.remove()
            die("no memory cgroup can be made: %s" % e)

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as f:
            f.write(str(value))

    def remove(self):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.05)

    def enter(self):
        """In a child, before it runs the program."""
        self.write("cgroup.procs", os.getpid())


def run(options, bench, preload, more):
    """Whether it was killed, seconds, and the peak of the resident size."""
    program = os.path.join(options.build, "tests", "memory", "limits")
    cgroup = Cgroup(options.memory * MIB)
    env = bench.environment(bench.data, more)
    if preload:
        env["LD_PRELOAD"] = preload
    try:
        begin = time.monotonic()
        # pylint: disable=subprocess-popen-preexec-fn
        done = subprocess.run([program, "waves", "11", str(options.live), "3"],
                              env=env, preexec_fn=cgroup.enter, check=False,
                              stdout=subprocess.PIPE, text=True)
        seconds = time.monotonic() - begin
    finally:
        cgroup.remove()
    if done.returncode not in (0, -9):
        raise measure.Failure("status %d" % done.returncode)
    peak = int(done.stdout) / 1024 if done.returncode == 0 else None
    return done.returncode != 0, seconds, peak


def figures(options, bench, name, preload, more):
    runs = [run(options, bench, preload, more) for _ in range(options.rounds)]
    peaks = [peak for _, _, peak in runs if peak is not None]
    killed = sum(killed for killed, _, _ in runs)
    return [name, "%d of %d" % (killed, len(runs)),
            "%.0f" % max(peaks) if peaks else "-",
            "%.1f" % min(s for _, s, _ in runs) if peaks else "-"]


def main():
    options = parse()
    if not os.path.isfile(os.path.join(options.build, "tests/memory/limits")):
        die("tests/memory/limits is not there: run make bench-limit")
    chosen = peers.chosen(options)
    compared = [(name, path, peers.settings(options, name))
                for name, path in chosen.items()]
    if options.library:
        more = dict(peers.settings(options, "konfiscator"),
                    KONFISCATOR_LIMIT=options.share)
        compared.append((LIMITED + options.share, options.library, more))
    table = [["allocator", "killed", "most resident, MiB", "s"]]
    failed = 0
    with measure.Bench(options.build, 600) as bench:
        preloads = peers.preloads(bench, {n: path for n, path, _ in compared})
        for name, _, more in compared:
            try:
                table.append(figures(options, bench, name, preloads[name], more))
            except measure.Failure as e:
                failed = 1
                print("FAIL %s: %s" % (name, e), file=sys.stderr)
    machine = peers.machine(peers.SOURCE)
    head = ("commit %s, %s, kernel %s, %d CPUs; a cgroup of %d MiB, 11 threads "
            "in turn with %d MiB each, three times" %
            (machine["commit"], machine["cpu"], machine["kernel"],
             machine["cpus"], options.memory, options.live))
    print("%s\n\n%s" % (head, tables.plain(table)))
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as f:
            print("- %s\n\n%s" % (head, tables.markdown(table)), file=f)
    return failed


if __name__ == "__main__":
    start(main)
