# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""increase() and rate() in a real Prometheus are the calls that programs made,
over their ends and over restarts of the exporter. It comes in by TLS with a
certificate and a password; a wire between the two shows that it asks for gzip
and OpenMetrics, and that this is what it gets."""

import base64
import gzip
import os
import signal
import subprocess

import kfprom
import kftest
import kfweb

CROWD = os.path.join(os.environ["top_builddir"], "bench/crowd")
PROCESSES = 6
CALLS = {"malloc": 101, "free": 51}  # of each of them
GROUP = 'process="crowd-0",by="air"'


class Crowd:
    """Programs under the library; the oldest are killed and replaced."""

    def __init__(self, world):
        self.process = world.run(
            CROWD, str(PROCESSES), "1", bufsize=0, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=kfprom.under_library(world))
        self.begun = PROCESSES
        self.ready()

    def ready(self):
        assert self.process.stdout.readline() == b"ready\n"

    def replace(self, nr):
        for _ in range(nr):
            self.process.stdin.write(b"\n")
            self.ready()
        self.begun += nr

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(kftest.PATIENCE) == 0


def the_wire_has_what_was_asked(exchanges):
    """All that went over it; the text of the last answer."""
    for e in exchanges:
        assert e.line == "GET /metrics HTTP/1.1", e.line
        assert e.tls in ("TLSv1.2", "TLSv1.3"), e.tls
        assert e.client == {"commonName": "friend"}, e.client
        kind, password = e.asked["Authorization"].split()
        assert (kind, base64.b64decode(password)) == ("Basic", b"alice:right")
        assert e.asked["Accept-Encoding"] == "gzip"
        assert e.asked["Accept"].startswith("application/openmetrics-text;")
        assert e.status == "HTTP/1.1 200 OK", e.status
        assert e.told["Content-Encoding"] == "gzip"
        assert e.told["Content-Type"] == kftest.OPENMETRICS + \
            "; charset=utf-8"
        assert set(e.told["Vary"].split(", ")) == {"Accept", "Accept-Encoding"}
    return gzip.decompress(exchanges[-1].body).decode()


def rates_are_exact(world):
    kfweb.make_all(world)
    port = kftest.free_port()
    flags = ("--web.listen-address=127.0.0.1:%d" % port,
             kfweb.config(world, kfweb.MUTUAL + kfweb.USERS))
    crowd = Crowd(world)
    exporter = world.exporter(*flags, state=world.state)
    wire = kfweb.Wire(world, port)
    # the one that is counted on is the exporter itself
    targets = [{"targets": ["127.0.0.1:%d" % port], "labels": {"by": "air"}},
               {"targets": ["127.0.0.1:%d" % wire.server_address[1]],
                "labels": {"by": "wire"}}]
    prometheus = kfprom.Prometheus(world, port, static_configs=targets,
                                   **kfweb.job(world))

    def counted(group=GROUP):
        """All is in Prometheus."""
        wanted = crowd.begun * CALLS["malloc"]
        kftest.until("%d calls in %s" % (wanted, group), lambda: [
            r for r in prometheus.query("konfiscator_malloc_total{%s}" % group)
            if float(r["value"][1]) == wanted])
    counted()
    crowd.replace(5)
    counted()
    assert exporter.stop() == 0
    crowd.replace(4)
    exporter = world.exporter(*flags, state=world.state)
    crowd.replace(3)
    counted()
    exporter.stop(signal.SIGKILL)
    crowd.replace(2)
    exporter = world.exporter(*flags, state=world.state)
    counted()
    counted(GROUP.replace("air", "wire"))
    page = kfprom.openmetrics(the_wire_has_what_was_asked(list(wire.seen)))
    assert page["konfiscator_malloc_total", frozenset(
        [("process", "crowd-0")])] == crowd.begun * CALLS["malloc"]
    crowd.end()
    exits = "konfiscator_process_exits_total{%s,reason=\"exit\"}" % GROUP
    kftest.until("all have ended", lambda: [
        r for r in prometheus.query(exits)
        if float(r["value"][1]) == crowd.begun])
    # all of them were killed: their files stay
    assert len(world.stats_names()) == crowd.begun, world.stats_names()
    for series, grown in (
            [("konfiscator_%s_total{%s}" % (call, GROUP),
              (crowd.begun - PROCESSES) * calls)
             for call, calls in CALLS.items()] + [(exits, crowd.begun)]):
        one, = prometheus.query(series + "[1h]")
        samples = [(float(t), float(v)) for t, v in one["values"]]
        assert samples == sorted(samples, key=lambda s: s[1]), "it fell"
        # from a sample to a sample nothing is extrapolated
        begin, end = samples[0][0], samples[-1][0]
        ms = round((end - begin) * 1000)
        for function, wanted in (("increase", grown),
                                 ("rate", grown * 1000 / ms)):
            result, = prometheus.ask(
                "query", time="%.3f" % end,
                query="%s(%s[%dms])" % (function, series, ms))["result"]
            value = float(result["value"][1])
            assert abs(value - wanted) <= 1e-9 * wanted, (
                function, series, value, wanted)


kftest.main(rates_are_exact)
