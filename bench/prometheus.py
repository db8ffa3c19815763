#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What many hosts cost a Prometheus: series, bytes of a scrape, memory for a
million series, and what is left for another one above it. The pages are those
of the exporter: the groups of its golden page, under many names."""

import argparse
import gzip
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(SOURCE, "tests/exporter/scrape.golden")
RULES = os.path.join(SOURCE, "packaging/prometheus/konfiscator.rules.yml")
GUIDE = os.path.join(SOURCE, "doc/deployment.md")
LIMIT = 1800  # seconds before it is given up


def parse():
    p = argparse.ArgumentParser(prog="prometheus.py", allow_abbrev=False,
                                description=__doc__)
    p.add_argument("--hosts", type=int, default=70, metavar="N",
                   help="exporters that are scraped (70)")
    p.add_argument("--groups", type=int, default=200, metavar="N",
                   help="names of processes on each (200)")
    p.add_argument("--scrapes", type=int, default=4, metavar="N",
                   help="of each before memory is looked at (4)")
    p.add_argument("--interval", type=int, default=15, metavar="SECONDS",
                   help="between scrapes of one (15)")
    p.add_argument("--remote-write", action="store_true",
                   help="send to two others: what the rules leave, and all")
    return p.parse_args()


class Pages:
    """A page whose counters all grow from one scrape to the next."""

    def __init__(self, groups):
        with open(GOLDEN, encoding="utf-8") as f:
            golden = f.read().split("\n\n")[0]
        self.values, lines, self.series = [], [], 0
        for line in golden.splitlines():
            if line.startswith("konfiscator_size_live_blocks"):
                continue  # of a collector that is off
            if line.startswith("#") and "size_live_blocks" in line:
                continue
            if line.startswith("#") or 'process="' not in line:
                lines.append(line.replace("%", "%%"))
                self.series += not line.startswith("#")
            elif 'process="web"' in line:
                self.add(lines, line, groups)
        self.template = "\n".join(lines) + "\n"

    def add(self, lines, line, groups):
        name, value = line.replace("%", "%%").rsplit(" ", 1)
        for i in range(groups):
            lines.append(name.replace(
                'process="web"', 'process="group-%d"' % i) + " %d")
            self.values.append(int(float(value)) + 1000 * i)
        self.series += groups

    def page(self, tick):
        return (self.template % tuple(
            v + tick * (i % 997) for i, v in enumerate(self.values))).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages = None
    served = {}

    def do_GET(self):
        host = urllib.parse.urlparse(self.path).query
        tick = self.served.get(host, 0) + 1
        body = self.pages.page(tick)
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.served[host] = tick

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A scrape that timed out comes again."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def scraping(target, args, remotes):
    """The configuration of the one that scrapes, and sends to @remotes."""
    return {
        "global": {"scrape_interval": "%ds" % args.interval,
                   "evaluation_interval": "%ds" % args.interval},
        "rule_files": [RULES],
        "remote_write": [
            {"name": name, "url": to.url + "/api/v1/write",
             "write_relabel_configs": [
                 {"source_labels": ["__name__"], "regex": regex,
                  "action": "keep"}]} for name, regex, to in remotes],
        "scrape_configs": [{
            "job_name": "konfiscator",
            "static_configs": [{"targets": [
                "host-%d" % i for i in range(args.hosts)]}],
            "relabel_configs": [
                {"source_labels": ["__address__"],
                 "target_label": "__param_host"},
                {"source_labels": ["__address__"],
                 "target_label": "instance"},
                {"target_label": "__address__",
                 "replacement": "127.0.0.1:%d" % target}]}]}


class Prometheus:
    def __init__(self, directory, config, *flags):
        os.mkdir(directory)
        self.port = free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        file = os.path.join(directory, "prometheus.yml")
        with open(file, "w", encoding="utf-8") as f:
            json.dump(config, f)
        with open(os.path.join(directory, "log"), "w",
                  encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file=" + file,
                 "--storage.tsdb.path=" + os.path.join(directory, "tsdb"),
                 "--web.listen-address=127.0.0.1:%d" % self.port, *flags],
                stdout=log, stderr=log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=120) as answer:
            return answer.read().decode()

    def query(self, expression):
        result = json.loads(self.get("/api/v1/query?" + urllib.parse.urlencode(
            {"query": expression})))["data"]["result"]
        return float(result[0]["value"][1]) if result else 0.0

    def own(self, metric):
        found = re.search("^%s (\\S+)$" % metric, self.get("/metrics"), re.M)
        return float(found[1]) if found else 0.0

    def memory(self):
        with open("/proc/%d/status" % self.process.pid,
                  encoding="utf-8") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) * 1024


def wait(what, condition):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(1)
    sys.exit("prometheus.py: never happened: " + what)


def report(args, pages, prometheus, empty):
    page = pages.page(1)
    series = prometheus.own("prometheus_tsdb_head_series")
    memory = prometheus.memory()
    a_million = (memory - empty) / series * 1e6
    whole = 1000 * pages.series
    print("series of a host                %12d" % pages.series)
    print("bytes of a scrape               %12d" % len(page))
    print("... compressed                  %12d" % len(gzip.compress(page, 1)))
    print("hosts scraped                   %12d" % args.hosts)
    print("series in memory                %12d" % series)
    print("resident memory, MiB            %12d" % (memory / 2**20))
    print("... empty, MiB                  %12d" % (empty / 2**20))
    print("... for a million series, MiB   %12d" % (a_million / 2**20))
    print("series of rules without host    %12d" % prometheus.query(
        'count({__name__=~"process:.*"})'))
    print("1000 hosts: series              %12d" % whole)
    print("1000 hosts: memory, GiB         %12.1f" % (
        whole * a_million / 1e6 / 2**30))


def queue(prometheus, metric, name):
    """A counter of the one that sends, of a queue of its."""
    return prometheus.own(r'prometheus_remote_storage_%s\{[^}]*'
                          r'remote_name="%s"[^}]*\}' % (metric, name))


def sent(prometheus, name, to):
    """What came of it is there, and nothing is under way."""
    return to.own("prometheus_tsdb_head_series") and \
        queue(prometheus, "samples_total", name) and \
        not queue(prometheus, "samples_pending", name)


def report_remotes(args, prometheus, remotes):
    """What a queue sent, and what that is for each interval."""
    for name, _, to in remotes:
        wait("all is sent", lambda n=name, t=to: sent(prometheus, n, t))
        series = to.own("prometheus_tsdb_head_series")
        samples = queue(prometheus, "samples_total", name)
        data = queue(prometheus, "bytes_total", name)
        print("remote write of %s" % name)
        print("... series above                %12d" % series)
        print("... samples sent                %12d" % samples)
        print("... bytes sent                  %12d" % data)
        print("... bytes of %2d s               %12d" % (
            args.interval, data / samples * series))


def documented_regex():
    with open(GUIDE, encoding="utf-8") as f:
        return re.search(r"regex: '(.*process:.*)'", f.read())[1]


def main():
    args = parse()
    Handler.pages = pages = Pages(args.groups)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    started = []

    def start(directory, name, config, *flags):
        one = Prometheus(os.path.join(directory, name), config, *flags)
        started.append(one)
        wait("an answer", lambda: one.get("/-/ready"))
        return one

    with tempfile.TemporaryDirectory(prefix="kf-scaling.") as directory:
        try:
            remotes = [(name, regex, start(
                directory, name, {}, "--web.enable-remote-write-receiver"))
                for name, regex in (("rules", documented_regex()),
                                    ("all", ".*")) if args.remote_write]
            prometheus = start(directory, "scraping", scraping(
                server.server_port, args, remotes))
            empty = prometheus.memory()
            wait("the scrapes", lambda: len(Handler.served) == args.hosts and
                 min(Handler.served.values()) > args.scrapes)
            report(args, pages, prometheus, empty)
            report_remotes(args, prometheus, remotes)
        finally:
            for one in started:
                one.kill()


if __name__ == "__main__":
    main()
