# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""With --stats.exemplars a bucket of allocation sizes has the youngest sampled
block of that size as exemplar: its bytes, when it was allocated, and the id of
its stack, as the stats file has them; in OpenMetrics and in protobuf."""

import math
import os
import struct
import subprocess
import sys
import time

import kfmetrics
import kfopenmetrics2
import kfprom
import kftest

SIZES = "konfiscator_allocation_size_bytes"
WORK = """
import sys
kept = [bytes(n) for n in range(20, 60000, 20)]
print("ready", flush=True)
sys.stdin.readline()
kept += [bytes(3000) for _ in range(1000)]
print("ready", flush=True)
sys.stdin.readline()
"""


class Worker:
    """A python3 that holds many samples and stands still."""

    def __init__(self, world):
        env = dict(kfprom.under_library(world), KONFISCATOR_SAMPLE="2048",
                   KONFISCATOR_NAME="worker")
        self.process = world.run(sys.executable, "-c", WORK, env=env,
                                 stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        self.world = world
        self.ready()

    def ready(self):
        assert self.process.stdout.readline() == b"ready\n"

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        self.ready()

    def samples(self):
        """Bytes, stack id and birth of its live samples, as doc/stats-file.md
        has them."""
        name, = self.world.stats_names()
        with open(os.path.join(self.world.stats, name), "rb") as f:
            data = f.read()

        def section(at):
            offset, size, nr = struct.unpack_from("<III", data, at)
            return [data[offset + i * size:offset + (i + 1) * size]
                    for i in range(nr)]
        stacks = [struct.unpack_from("<Q", s)[0] for s in section(144)]
        found = []
        for s in section(264):
            address, size, _, born, stack = struct.unpack_from("<QQQQI", s)
            if address:
                found.append((size, "%016x" % stacks[stack], born))
        return found


def youngest(samples):
    """By the bucket's bound."""
    found = {}
    for size, stack, born in samples:
        le = 16.0
        while le < size:
            le *= 2
        le = le if le <= 32768 else math.inf
        if le not in found or born > found[le][2]:
            found[le] = size, stack, born
    return found


def exemplars_of_protobuf(page):
    return {float(dict(labels)["le"]): e
            for (name, labels), e in page.exemplars.items() if name == SIZES}


def check(worker, exporter):
    def still():
        """A page, and the samples at that time."""
        before = worker.samples()
        page = kfmetrics.scrape(exporter)
        return before == worker.samples() and (page, before)
    page, samples = kftest.until("it stands still", still)
    offset = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    wanted = youngest(samples)
    found = exemplars_of_protobuf(page)
    assert len(wanted) >= 6 and set(found) == set(wanted), (found, wanted)
    for le, (size, stack, born) in wanted.items():
        labels, value, ns = found[le]
        assert labels == {"stack_id": stack, "pid": str(worker.process.pid)}
        assert value == size
        assert abs(born + offset - ns) < 10 ** 9, (le, born + offset - ns)
    native = page.native[SIZES, frozenset([("process", "worker")])]
    assert sorted(native.exemplars) == sorted(
        (v, ns) for _, v, ns in found.values())
    return found


def they_are_the_youngest_samples(world):
    worker = Worker(world)
    exporter = world.exporter("--stats.exemplars")
    first = check(worker, exporter)
    # they stay the same as long as nothing younger comes
    assert check(worker, exporter) == first
    worker.go_on()
    second = check(worker, exporter)
    assert second[4096.0] != first[4096.0]
    # OpenMetrics has the same; its parser knows the rules of exemplars
    text = exporter.scrape_text(Accept=kftest.OPENMETRICS)
    found = kfprom.exemplars(text)
    assert {le: (labels, value) for le, (labels, value, _) in found.items()} \
        == {le: (labels, value) for le, (labels, value, _) in second.items()}
    for le, (_, _, seconds) in found.items():
        assert round(seconds * 1000) == second[le][2] // 10 ** 6
    page = kfopenmetrics2.scrape(exporter)
    (key, found), = page.exemplars.items()
    assert key == (SIZES, frozenset([("process", "worker")]))
    assert found == [(labels, value, ns // 10 ** 6) for _, (labels, value, ns)
                     in sorted(second.items())]
    # the classic format has none, nor has a page without the flag
    assert " # {" not in exporter.scrape().text
    plain = world.exporter()
    assert not kfmetrics.scrape(plain).exemplars
    assert " # {" not in plain.scrape_text(Accept=kftest.OPENMETRICS)


def a_real_prometheus_keeps_them(world):
    worker = Worker(world)
    exporter = world.exporter("--stats.exemplars")
    for flags in ((), ("--enable-feature=exemplar-storage,native-histograms",)):
        prometheus = kfprom.Prometheus(
            world, exporter.port,
            flags=flags or ("--enable-feature=exemplar-storage",))

        def kept():
            data = prometheus.ask("query_exemplars", query=SIZES + (
                "" if flags else "_bucket"), start=time.time() - 3600,
                end=time.time() + 60) or []
            return {(e["labels"]["stack_id"], float(e["value"]))
                    for series in data for e in series["exemplars"]}
        wanted = {(stack, size) for size, stack, _ in
                  youngest(worker.samples()).values()}
        got = kftest.until("exemplars", kept)
        assert got <= wanted, (got, wanted)
        if not flags:
            kftest.until("all of them", lambda: kept() == wanted)
        prometheus.end()


kftest.main(
    they_are_the_youngest_samples,
    a_real_prometheus_keeps_them,
)
