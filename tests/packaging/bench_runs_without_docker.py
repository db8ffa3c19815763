# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""The container bench's entry point runs a program, serves its counts to the
Prometheus of its configuration, and ends both when told to."""

import json
import os
import signal
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402

BENCH = os.path.join(kftest.SOURCE, "packaging", "bench")


def start(world, *program):
    port = kftest.free_port()
    environment = dict(os.environ, KF_BENCH_LISTEN="127.0.0.1:%d" % port,
                       TMPDIR=world.dir)
    process = world.run(os.path.join(BENCH, "entrypoint.sh"), *program,
                        env=environment)

    def page():
        try:
            with urllib.request.urlopen(
                    "http://127.0.0.1:%d/metrics" % port,
                    timeout=kftest.PATIENCE) as answer:
                return kftest.Page(answer.read().decode())
        except OSError:
            return None
    return process, port, page


def counted(page, process):
    got = page()
    return got and got.get("konfiscator_malloc_total", 0, process=process)


def the_default_program_is_counted_and_ends(world):
    process, _, page = start(world)
    kftest.need("python3")

    def counts():
        got = page()
        return got and any(v > 1000 for (n, _), v in got.samples.items()
                           if n == "konfiscator_malloc_total")
    kftest.until("counts", counts)
    process.send_signal(signal.SIGTERM)
    assert process.wait(kftest.PATIENCE) == 0
    assert page() is None, "the exporter is still there"
    assert not [d for d in os.listdir(world.dir) if "bench" in d]


def a_given_program_is_counted_after_its_end(world):
    process, _, page = start(world, kftest.need("sort"), "/dev/null")
    kftest.until("counts", lambda: counted(page, "sort"))
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(kftest.PATIENCE) == 0


def its_configuration_makes_prometheus_scrape_it(world):
    prometheus = kftest.need("prometheus")
    _, port, page = start(world)
    with open(os.path.join(BENCH, "prometheus.yml")) as f:
        text = f.read()
    assert "bench:8000" in text
    with open(world.path("prometheus.yml"), "w") as f:
        f.write(text.replace("bench:8000", "127.0.0.1:%d" % port)
                .replace("5s", "1s"))
    mine = kftest.free_port()
    with open(world.path("log"), "w") as log:
        world.run(prometheus, "--config.file=" + world.path("prometheus.yml"),
                  "--storage.tsdb.path=" + world.path("tsdb"),
                  "--web.listen-address=127.0.0.1:%d" % mine,
                  stdout=log, stderr=log)

    def arrived():
        try:
            with urllib.request.urlopen(
                    "http://127.0.0.1:%d/api/v1/query?query="
                    "konfiscator_malloc_total" % mine,
                    timeout=kftest.PATIENCE) as answer:
                return [r for r in json.load(answer)["data"]["result"]
                        if float(r["value"][1]) > 0]
        except OSError:
            return []
    kftest.until("counts in Prometheus", arrived)
    assert page()


kftest.main(
    the_default_program_is_counted_and_ends,
    a_given_program_is_counted_after_its_end,
    its_configuration_makes_prometheus_scrape_it,
)
