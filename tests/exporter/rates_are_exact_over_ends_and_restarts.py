# SPDX-License-Identifier: LGPL-2.1-or-later
"""increase() and rate() in a real Prometheus are the calls that programs made,
over their ends and over restarts of the exporter. It comes in by TLS with a
certificate and a password, and asks for gzip and OpenMetrics."""

import os
import signal
import subprocess

import kfprom
import kftest
import kfweb

CROWD = os.path.join(os.environ["top_builddir"], "bench/crowd")
PROCESSES = 6
CALLS = {"malloc": 101, "free": 51}  # of each of them
GROUP = 'process="crowd-0"'


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


def rates_are_exact(world):
    kfweb.make_all(world)
    port = kftest.free_port()
    flags = ("--web.listen-address=127.0.0.1:%d" % port,
             kfweb.config(world, kfweb.MUTUAL + kfweb.USERS))
    crowd = Crowd(world)
    exporter = world.exporter(*flags, state=world.state)
    prometheus = kfprom.Prometheus(world, port, **kfweb.job(world))

    def counted(call="malloc"):
        """All is in Prometheus."""
        wanted = crowd.begun * CALLS[call]
        kftest.until("%d calls of %s" % (wanted, call), lambda: [
            r for r in prometheus.query("konfiscator_%s_total{%s}" % (
                call, GROUP)) if float(r["value"][1]) == wanted])
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
    crowd.end()
    exits = "konfiscator_process_exits_total{%s,reason=\"exit\"}" % GROUP
    kftest.until("all have ended", lambda: [
        r for r in prometheus.query(exits)
        if float(r["value"][1]) == crowd.begun])
    assert not os.listdir(world.stats)
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
