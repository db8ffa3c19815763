# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real Prometheus beside an exporter, for tests of what is asked of it."""

import json
import math
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import kftest

# Frees and takes, small and large, until it is ended.
WORK = """
import time
kept = []
while True:
    kept.append([bytearray(600 + n % 4000) for n in range(500)])
    kept.append(bytearray(3 << 20))
    if len(kept) > 20:
        del kept[::2]
    time.sleep(0.05)
"""


def under_library(world):
    """The environment of a program that is to run under the library."""
    preload = world.path("lib.so")  # ld.so knows no quoting
    if not os.path.lexists(preload):
        link(world, os.environ["KF_LIB"], "lib.so")
    return dict(os.environ, LD_PRELOAD=preload, KONFISCATOR_DIR=world.stats)


def worker(world):
    """A python3 under the library that never stands still."""
    return world.run(sys.executable, "-c", WORK, env=under_library(world))


def exporter_in_cgroup(world, process):
    """An exporter that sees a process in a cgroup with figures and a limit,
    which any machine may lack, and another that has tags."""
    tagged = world.sleeper()
    world.stats_file("tagged", pid=tagged.pid, tag="1:0:parser",
                     **{"tag.1.allocated": 4096, "tag.1.mallocs": 4})
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or entry == str(tagged.pid):
            link(world, "/proc/" + entry, "proc", entry)
    own = "/proc/%d/" % process.pid
    for entry in os.listdir(own):
        if entry != "cgroup":
            link(world, own + entry, "proc", str(process.pid), entry)
    files = {("proc", str(process.pid), "cgroup"): "0::/app.slice/app",
             ("cgroup", "app.slice", "app", "memory.current"): "4194304",
             ("cgroup", "app.slice", "app", "memory.max"): "8388608",
             ("cgroup", "app.slice", "app", "memory.events"):
             "max 0\noom_kill 0"}
    for path, text in files.items():
        os.makedirs(world.path(*path[:-1]), exist_ok=True)
        with open(world.path(*path), "w", encoding="utf-8") as f:
            f.write(text + "\n")
    exporter = world.exporter("--path.procfs=" + world.path("proc"),
                              "--path.cgroupfs=" + world.path("cgroup"))
    kftest.until("the program's counts", lambda: any(
        v > 1000 for (name, _), v in exporter.scrape().samples.items()
        if name == "konfiscator_malloc_total"))
    return exporter


def link(world, target, *path):
    os.makedirs(world.path(*path[:-1]), exist_ok=True)
    os.symlink(target, world.path(*path))


def names(page):
    """The names of all samples of a page."""
    return {name for name, _ in page.samples}


def metrics_of(expr):
    """The exporter's metrics that an expression asks for."""
    return set(re.findall(r"(?<![\w:])konfiscator_\w+\b(?!:)", expr))


def numbers(result):
    """The samples of an answer that are numbers."""
    return [r for r in result if math.isfinite(float(r["value"][1]))]


def promtool(text):
    """Let promtool check a classic page."""
    subprocess.run([kftest.need("promtool"), "check", "metrics"], input=text,
                   check=True, timeout=kftest.PATIENCE)


def openmetrics(text):
    """Samples as Page has them, by the parser of prometheus_client."""
    try:
        from prometheus_client.openmetrics.parser import (
            text_string_to_metric_families)
    except ImportError:
        raise kftest.Skip("python3-prometheus-client is missing") from None
    samples = {}
    for family in text_string_to_metric_families(text):
        for s in family.samples:
            labels = frozenset((k, v) for k, v in s.labels.items() if v)
            assert (s.name, labels) not in samples, s
            samples[(s.name, labels)] = float(s.value)
    return samples


def exemplars(text):
    """Labels, value and seconds since 1970 of each exemplar, by bound."""
    from prometheus_client.openmetrics.parser import (
        text_string_to_metric_families)
    return {float(s.labels["le"]): (s.exemplar.labels, s.exemplar.value,
                                    float(s.exemplar.timestamp))
            for family in text_string_to_metric_families(text)
            for s in family.samples if s.exemplar}


class Prometheus:
    """One that scrapes an exporter five times a second, in a way that a job's
    further settings tell."""

    def __init__(self, world, target, *rules, flags=(), **job):
        program = kftest.need("prometheus")
        self.port = kftest.free_port()
        config = world.path("prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            json.dump({
                "global": {"scrape_interval": "200ms",
                           "scrape_timeout": "200ms",
                           "evaluation_interval": "200ms"},
                "rule_files": list(rules),
                "scrape_configs": [{
                    "job_name": "konfiscator", "static_configs": [
                        {"targets": ["127.0.0.1:%d" % target]}], **job}]}, f)
        with open(world.path("prometheus.log"), "w",
                  encoding="utf-8") as log:
            self.process = world.run(
                program, "--config.file=" + config,
                "--storage.tsdb.path=" + world.path("tsdb"),
                "--web.listen-address=127.0.0.1:%d" % self.port, *flags,
                stdout=log, stderr=log)

    def end(self):
        """Another one may use the same data."""
        self.process.terminate()
        self.process.wait(kftest.PATIENCE)

    def ask(self, path, **parameters):
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (
            self.port, path, urllib.parse.urlencode(parameters))
        try:
            with urllib.request.urlopen(url, timeout=kftest.PATIENCE) as a:
                return json.load(a)["data"]
        except urllib.error.HTTPError as e:
            if e.code == 503:  # it is starting
                return None
            raise AssertionError("%s: %s" % (parameters, e.read())) from e
        except OSError:
            return None

    def query(self, expr):
        return (self.ask("query", query=expr) or {"result": []})["result"]
