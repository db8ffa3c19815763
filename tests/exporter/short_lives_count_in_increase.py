# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""A thousand processes come and go between scrapes, under forty names of which
half are in no rule, while the exporter is restarted twice. What is counted is
what they counted; and so is increase(), by the rule for created times (a zero
at that time), and in Debian's Prometheus, which does not know them, for names
that are in a rule, and for all others by the expression of the manual.
SHORT_LIVES=N makes it N processes, a multiple of 40."""

import collections
import os
import signal
import struct
import subprocess
import threading
import time
import urllib.request

import kfmetrics
import kfprom
import kftest
from kfended import ENDED, Counted

PROCESSES = int(os.environ.get("SHORT_LIVES", "1000"))
NAMES = 40  # the first half by a rule's fixed names
AT_ONCE = 2
RULES = """
process_names:
- {name: "{{.Comm}}", comm: [%s]}
- {name: "{{.Matches.Job}}", cmdline: ['/(?P<Job>job-\\d+) ']}
"""
# of the manual, with series and milliseconds in place of names and 5m
EXACT = ("max_over_time({0}[{1}ms]) - (max_over_time({0}[1h] offset {1}ms)"
         " or 0 * max_over_time({0}[{1}ms]))")


def name_of(i):
    return "job-%02d" % i


class Server:
    """What a server does that knows created times: it asks several times a
    second and keeps all samples, with a zero at the created time of a counter
    where that is later than its last sample and before the next one."""

    def __init__(self, port, interval):
        self.interval = interval
        self.url = "http://127.0.0.1:%d/metrics" % port
        self.answers = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over.wait(self.interval):
            asked = time.time_ns() // 10 ** 6
            try:
                with urllib.request.urlopen(urllib.request.Request(
                        self.url, headers={"Accept": kfmetrics.PROMETHEUS_3}),
                        timeout=kftest.PATIENCE) as answer:
                    self.answers.append((asked, answer.read()))
            except OSError:
                pass  # it is being restarted

    def end(self):
        """The samples of all counters, by name and labels."""
        self.over.set()
        self.thread.join()
        series = collections.defaultdict(list)
        for asked, body in self.answers:
            page = kfmetrics.Metrics(body)
            for (name, labels), value in page.samples.items():
                family = name if name in page.types else \
                    name.rsplit("_", 1)[0]
                plain = frozenset(p for p in labels if p[0] != "le")
                created = page.created.get((family, plain))
                self.add(series[name, labels], asked, value,
                         None if created is None else created // 10 ** 6)
        return series

    @staticmethod
    def add(samples, asked, value, created):
        last = samples[-1][0] if samples else -1
        if created is not None and last < created < asked:
            samples.append((created, 0))
        samples.append((asked, value))


def increase(samples):
    """From the first sample to the last, without extrapolation."""
    values = [v for _, v in samples]
    return sum(b - a if b >= a else b for a, b in zip(values, values[1:]))


class Crowd:
    """The processes, some at a time, in the order of their names."""

    def __init__(self, world, env):
        os.mkdir(world.path("jobs"))
        for i in range(NAMES):
            os.symlink(os.path.abspath(ENDED),
                       world.path("jobs", name_of(i)))
        self.world, self.env = world, env
        self.next = 0
        self.lives = []

    def run(self, until):
        running = []
        while running or self.next < until:
            while self.next < until and len(running) < AT_ONCE:
                name = name_of(self.next * NAMES // PROCESSES)
                running.append((time.monotonic(), subprocess.Popen(
                    [self.world.path("jobs", name), "100", "exit"],
                    env=self.env, stdin=subprocess.DEVNULL)))
                self.next += 1
            began, process = running.pop(0)
            assert process.wait(kftest.PATIENCE) == 0
            self.lives.append(time.monotonic() - began)


def the_ledger_says(world):
    """Processes and their calls of malloc by name, as doc/ledger.md has it."""
    path, = [n for n in os.listdir(world.stats) if n.startswith(".ledger.")]
    with open(os.path.join(world.stats, path), "rb") as f:
        data = f.read()
    assert data[:8] == b"KFFLDGD1"
    offset, size, _ = struct.unpack_from("<III", data, 112)
    committed, applied, rows = struct.unpack_from("<QQI", data, 192)
    assert committed == applied
    says = {}
    for i in range(rows):
        row = data[offset + i * size:offset + (i + 1) * size]
        exits, execs = struct.unpack_from("<QQ", row, 728)
        assert not execs
        if exits:
            name = row[8:24].split(b"\0")[0].decode()
            assert name not in says, name
            says[name] = exits, sum(struct.unpack_from("<210Q", row,
                                                       1272)[::2])
    return says


def sum_of_steps(prometheus, series, begin, end):
    """What the expression of the manual adds up to, step by step."""
    step, total = 2000, 0
    for at in range(begin + step, end + step, step):
        for r in prometheus.ask("query", time="%.3f" % (at / 1000),
                                query=EXACT.format(series, step))["result"]:
            total += float(r["value"][1])
    return total


def increase_has_the_first_value(world):
    counted = Counted(world)
    crowd = Crowd(world, counted.env)
    port = kftest.free_port()
    with open(world.path("rules.yml"), "w", encoding="utf-8") as f:
        f.write(RULES % ", ".join(name_of(i) for i in range(NAMES // 2)))
    flags = ("--web.listen-address=127.0.0.1:%d" % port,
             "--config.file=" + world.path("rules.yml"))
    exporter = world.exporter(*flags, state=world.state)
    prometheus = kfprom.Prometheus(world, port)
    kftest.until("the names in rules", lambda: len(prometheus.query(
        "konfiscator_malloc_total == 0")) == NAMES // 2 + 1)
    begin = time.time_ns() // 10 ** 6
    # two of them: a scan for the one is none for the other
    servers = [Server(port, interval) for interval in (0.2, 0.07)]
    crowd.run(PROCESSES // 4)
    assert exporter.stop() == 0
    crowd.run(PROCESSES // 2)
    exporter = world.exporter(*flags, state=world.state)
    crowd.run(PROCESSES * 3 // 4)
    exporter.stop(signal.SIGKILL)
    crowd.run(PROCESSES * 7 // 8)
    exporter = world.exporter(*flags, state=world.state)
    crowd.run(PROCESSES)
    each = PROCESSES // NAMES
    assert the_ledger_says(world) == {
        name_of(i): (each, each * counted.each) for i in range(NAMES)}
    kftest.until("all of it", lambda: len(prometheus.query(
        "konfiscator_malloc_total == %d" % (each * counted.each))) == NAMES)
    end = time.time_ns() // 10 ** 6
    page = kfmetrics.scrape(exporter)
    time.sleep(0.5)
    wanted = {"konfiscator_malloc_total": each * counted.each,
              "konfiscator_allocation_size_bytes_count": each * counted.each,
              "konfiscator_process_exits_total": each}
    for server in servers:
        series_are_exact(server.end(), page, wanted)
    in_prometheus(prometheus, begin, end, wanted)
    lives = sorted(crowd.lives)
    print("%d processes lived %.0f ms, 99 %% of them below %.0f ms, all "
          "below %.0f ms; %d scrapes" % (
              PROCESSES, lives[len(lives) // 2] * 1000,
              lives[len(lives) * 99 // 100] * 1000, lives[-1] * 1000,
              sum(len(server.answers) for server in servers)))


def series_are_exact(series, page, wanted):
    for i in range(NAMES):
        for metric, value in wanted.items():
            labels = frozenset([("process", name_of(i))] + [
                ("reason", "exit")] * metric.endswith("exits_total"))
            assert page.samples[metric, labels] == value
            samples = series[metric, labels]
            assert increase(samples) == value, (labels, samples)
            # without the zero it would be less, as the others are new
            if i >= NAMES // 2:
                assert increase([s for s in samples if s[1]]) < value


def in_prometheus(prometheus, begin, end, wanted):
    """A sample is never older than the exporter's start, at which names in
    rules are there with 0."""
    lost = 0
    for i in range(NAMES):
        series = 'konfiscator_malloc_total{process="%s"}' % name_of(i)
        value = wanted["konfiscator_malloc_total"]
        samples, = prometheus.query(series + "[1h]")
        counts = [(float(t), float(v)) for t, v in samples["values"]]
        if i < NAMES // 2:
            assert increase(counts) == value, series
            assert counts[0][1] == 0
            span = round((counts[-1][0] - counts[0][0]) * 1000)
            result, = prometheus.ask(
                "query", time="%.3f" % counts[-1][0],
                query="increase(%s[%dms])" % (series, span))["result"]
            assert abs(float(result["value"][1]) - value) <= 1e-9 * value
        else:
            lost += value - increase(counts)
        assert sum_of_steps(prometheus, series, begin, end) == value, series
    # this is why: the first value of a new series
    assert lost > 0


kftest.main(increase_has_the_first_value)
