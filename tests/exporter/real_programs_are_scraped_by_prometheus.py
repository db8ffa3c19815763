# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""Real programs under the library, scraped: the counts are those of their
stats files, never fall, and arrive in a real Prometheus."""

import json
import os
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

import kftest

WORK = """
import sys
blocks = []
for line in sys.stdin:
    blocks += [bytearray(int(line)) for _ in range(1000)]
    del blocks[::2]
    print(len(blocks), flush=True)
"""


def under_library(world, *args, **kw):
    library = os.environ["KF_LIB"]
    link = world.path("lib.so")  # ld.so knows no quoting of spaces
    if not os.path.exists(link):
        assert os.path.exists(library), library + " is not built"
        os.symlink(library, link)
    environment = dict(os.environ, LD_PRELOAD=link,
                       KONFISCATOR_DIR=world.stats)
    return world.run(*args, env=environment, **kw)


class Worker:
    """A python3 under the library that works when it is told to."""

    def __init__(self, world):
        self.process = under_library(
            world, sys.executable, "-c", WORK, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.work(1000)  # above 512 bytes python3 calls malloc itself

    def work(self, size):
        self.process.stdin.write(b"%d\n" % size)
        assert self.process.stdout.readline()


def counts_are_those_of_the_processes(world):
    workers = [Worker(world) for _ in range(3)]
    exporter = world.exporter(state=world.state)
    name = os.path.basename(os.path.realpath(sys.executable))
    before = exporter.scrape()
    process, = before.label_values("konfiscator_malloc_total", "process")
    assert process and process[:6] == name[:6], (process, name)
    assert before.get("konfiscator_processes") == 3
    assert before.get("konfiscator_malloc_total") > 3000
    assert (before.get("konfiscator_malloc_total") -
            before.get("konfiscator_free_total") ==
            before.get("konfiscator_live_blocks"))
    for worker in workers:
        worker.work(100000)
    after = exporter.scrape()
    grown = (after.get("konfiscator_malloc_total") -
             before.get("konfiscator_malloc_total"))
    assert grown >= 3000, grown
    live = after.get("konfiscator_heap_bytes", state="live")
    assert live >= 3 * 500 * 100000, live
    world.end(workers[0].process)
    ended = exporter.scrape()
    assert ended.get("konfiscator_processes") == 2
    for key, value in after.samples.items():
        if key[0].endswith("_total") and "process" in dict(key[1]):
            assert ended.samples[key] >= value, (key, value)
    # that of the killed one stays
    assert len(world.stats_names()) == 3


def scrapes_in_parallel_agree(world):
    worker = Worker(world)
    for _ in range(5):
        Worker(world).process.stdin.close()
    exporter = world.exporter(state=world.state)
    pages = []

    def scrape():
        for _ in range(5):
            pages.append(exporter.scrape())
    threads = [threading.Thread(target=scrape) for _ in range(8)]
    for thread in threads:
        thread.start()
    worker.work(64)
    for thread in threads:
        thread.join()
    assert len(pages) == 40
    last = exporter.scrape().get("konfiscator_malloc_total")
    assert all(p.get("konfiscator_malloc_total") <= last for p in pages)


def query(port, expression):
    url = "http://127.0.0.1:%d/api/v1/query?%s" % (
        port, urllib.parse.urlencode({"query": expression}))
    try:
        with urllib.request.urlopen(url, timeout=kftest.PATIENCE) as answer:
            return json.load(answer)["data"]["result"]
    except OSError:
        return []


def prometheus_has_the_same_counts(world):
    prometheus = kftest.need("prometheus")
    worker = Worker(world)
    exporter = world.exporter(state=world.state)
    config = world.path("prometheus.yml")
    with open(config, "w") as f:
        f.write("global: {scrape_interval: 1s}\n"
                "scrape_configs:\n- job_name: konfiscator\n"
                "  static_configs: [{targets: ['127.0.0.1:%d']}]\n"
                % exporter.port)
    port = kftest.free_port()
    with open(world.path("prometheus.log"), "w") as log:
        world.run(prometheus, "--config.file=" + config,
                  "--storage.tsdb.path=" + world.path("tsdb"),
                  "--web.listen-address=127.0.0.1:%d" % port,
                  stdout=log, stderr=log)
    total = "konfiscator_malloc_total"
    kftest.until("up", lambda: [r for r in query(port, "up")
                                if r["value"][1] == "1"])
    before = exporter.scrape().get(total)
    worker.work(64)  # its last call may come after its answer

    def same():
        wanted = exporter.scrape().get(total)
        return wanted > before and [
            r for r in query(port, total) if float(r["value"][1]) == wanted]
    kftest.until("the count in Prometheus", same)
    assert query(port, "sum(konfiscator_heap_bytes) > 0")


kftest.main(
    counts_are_those_of_the_processes,
    scrapes_in_parallel_agree,
    prometheus_has_the_same_counts,
)
