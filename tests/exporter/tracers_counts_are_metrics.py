# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""bpftrace runs under the exporter and its sums are metrics; one that is killed
shows and comes back, and what a tracer prints is not believed. SystemTap's page
is followed, and as little believed."""

import os
import re
import signal
import subprocess
import time

import kfmetrics
import kftest

WORK = "import sys\nfor line in sys.stdin:\n" \
       "    b = [bytearray(100000) for _ in range(int(line))]\n" \
       "    print(len(b), flush=True)\n"
SCRIPTS = os.path.join(kftest.SOURCE, "scripts/bpftrace")
READY = '{"type": "printf", "data": "ready\\n"}'


def children(pid):
    """Of all its threads, which come and go."""
    found = set()
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                found.update(int(p) for p in f.read().split())
        except OSError:
            pass
    return found


def traced(world, *flags, **kw):
    library = os.path.realpath(os.environ["KF_LIB"])
    link = world.path("lib.so")
    if not os.path.exists(link):
        os.symlink(library, link)
    return world.exporter("--trace=sizes", "--trace.every=1s",
                          "--trace.library=" + link, *flags, **kw)


def up(exporter, script="sizes"):
    return exporter.scrape().get("konfiscator_trace_up", script=script)


def events(page):
    return page.get("konfiscator_trace_events_total", 0, script="sizes",
                    event="large")


def a_real_tracer_is_killed_and_comes_back(world):
    kftest.need("bpftrace")
    if os.geteuid() != 0:
        raise kftest.Skip("bpftrace needs root")
    trial = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"],
                           capture_output=True, timeout=kftest.PATIENCE)
    if trial.returncode:
        raise kftest.Skip("bpftrace cannot trace here")
    exporter = traced(world, "--trace.scripts=" + SCRIPTS)
    kftest.until("probes are set", lambda: up(exporter))
    worker = world.run(
        os.sys.executable, "-c", WORK, bufsize=0, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env=dict(
            os.environ, LD_PRELOAD=world.path("lib.so"),
            KONFISCATOR_DIR=world.stats))

    def work(n):
        worker.stdin.write(b"%d\n" % n)
        assert worker.stdout.readline() == b"%d\n" % n
    work(200)
    kftest.until("large blocks are counted",
                 lambda: events(exporter.scrape()) >= 200)
    page = exporter.scrape()
    assert page.types["konfiscator_trace_size_bytes"] == "histogram"
    size = {"script": "sizes", "event": "large"}
    count = page.get("konfiscator_trace_size_bytes_count", **size)
    assert count >= 200
    assert page.get("konfiscator_trace_size_bytes_sum",
                    **size) >= 200 * 100000
    assert page.get("konfiscator_trace_size_bytes_bucket", le="65535.0",
                    **size) <= count - 200
    tracer, = children(exporter.process.pid)
    os.kill(tracer, signal.SIGKILL)
    kftest.until("it is down", lambda: not up(exporter))
    kept = events(exporter.scrape())
    assert kept >= 200
    kftest.until("it is up again", lambda: up(exporter))
    page = exporter.scrape()
    assert page.get("konfiscator_trace_starts_total") == 2
    work(100)
    kftest.until("it counts again",
                 lambda: events(exporter.scrape()) >= kept + 100)
    tracer, = children(exporter.process.pid)
    assert exporter.stop() == 0
    assert not os.path.exists("/proc/%d" % tracer), "left behind"


def fake(world, body):
    """A bpftrace of our own: a script that prints what it likes."""
    path = world.path("bin")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "bpftrace"), "w") as f:
        f.write("#!/bin/sh\ntrap : USR1\n" + body)
    os.chmod(os.path.join(path, "bpftrace"), 0o755)
    return {"prefix": ["env", "PATH=%s:%s" % (path, os.environ["PATH"])]}


def nothing_that_is_printed_is_believed(world):
    with open(world.path("lines"), "w") as f:
        f.write("\n".join([
            READY,
            '{"type":"map","data":{"@total":{"alloc":7}}}',
            # none of these may change anything
            '{"type":"map","data":{"@total":{"alloc":6}}}',
            '{"type":"map","data":{"@total":{"alloc":-1}}}',
            '{"type":"map","data":{"@total":{"alloc":1e99}}}',
            '{"type":"map","data":{"@total":{"alloc":"8"}}}',
            '{"type":"map","data":{"@total":{"alloc":9223372036854775807}}}',
            '{"type":"map","data":{"@total":[]}}',
            '{"type":"map","data":{"@total":7}}',
            '{"type":"map","data":{}}',
            '{"type":"map"}', '[]', '{', '"', "\\xff\\xfe", "null", "",
            '{"type":"hist","data":{"@alloc_bytes":{"a":1}}}',
            '{"type":"hist","data":{"@alloc_bytes":[1,2]}}',
            '{"type":"hist","data":{"@alloc_bytes":[{"max":1}]}}',
            "[" * 100000,
            "x" * 1000000,
            '{"type":"map","data":{"@other":{"alloc":8}}}',
            '{"type":"map","data":{"@total":{"x\\"} 1\\n":8}}}',
            '{"type":"lost_events","data":{"events":5}}',
            '{"type":"hist","data":{"@alloc_bytes":[{"max":-1,"count":1},'
            '{"min":0,"max":0,"count":1},{"min":4,"max":7,"count":3},'
            '{"min":1099511627776,"count":2}]}}',
            '{"type":"map","data":{"@total":{"alloc_bytes":40}}}',
            '{"type":"printf","data":"end\\n"}']) + "\n")
    exporter = traced(world, "--trace=konfiscator",
                      "--trace.scripts=" + SCRIPTS, **fake(
        world, "cat '%s'\nwhile :; do sleep 1000 & wait; done\n"
        % world.path("lines")))
    lines = "konfiscator_trace_lines_total"
    kftest.until("all lines are read", lambda: sum(
        v for (name, _), v in exporter.scrape().samples.items()
        if name == lines) == 2 * 28)
    page = exporter.scrape()
    assert page.get(lines, result="bad", script="sizes") == 20, page.text
    events_total = "konfiscator_trace_events_total"
    for script in ("sizes", "konfiscator"):
        assert page.get(events_total, event="alloc", script=script) == 7
    # that one takes any event, if it is a plain word
    assert page.get(lines, result="bad", script="konfiscator") >= 18
    assert page.label_values(events_total, "event") == {"alloc", "alloc_bytes"}
    assert page.get("konfiscator_trace_lost_events_total",
                    script="sizes") == 5
    histogram = "konfiscator_trace_size_bytes"
    assert page.get(histogram + "_bucket", event="alloc", le="15.0") == 5
    assert page.get(histogram + "_count", event="alloc") == 7
    assert page.get(histogram + "_sum", event="alloc") == 40
    subprocess.run([kftest.need("promtool"), "check", "metrics"],
                   input=page.text.encode(), check=True)


def one_that_cannot_run_is_tried_again(world):
    exporter = traced(world, "--trace.scripts=" + SCRIPTS,
                      **fake(world, "exit 3\n"))
    kftest.until("some starts", lambda: exporter.scrape().get(
        "konfiscator_trace_starts_total") >= 2)
    assert not up(exporter)
    exporter.says('how="status 3"')
    assert exporter.stop() == 0


def names_on_the_page():
    """Counters that SystemTap's script prometheus makes, without prefix."""
    with open(os.path.join(kftest.SOURCE, "scripts", "stap",
                           "prometheus.stp"), encoding="utf-8") as f:
        found = re.findall(r'@counter\("(\w+)_total", \w+, ', f.read())
    assert len(found) == 10, found
    return found


def stap_page(n, requests):
    """A page as it prints one: all counters of two programs, and sizes asked,
    of which 0 to 127 bytes are n, 1 MiB and more the rest."""
    lines = []
    for name in names_on_the_page():
        lines += ["# HELP konfiscator_%s_total So it is." % name,
                  "# TYPE konfiscator_%s_total counter" % name]
        lines += ['konfiscator_%s_total{process="%s"} %d' % (name, p, n)
                  for p in ("one", 'a \\\\} 7')]
    asked = "konfiscator_request_bytes"
    lines += ["# HELP %s Bytes asked by an allocation." % asked,
              "# TYPE %s histogram" % asked]
    if requests:
        lines += ['%s_bucket{le="%d"} %d' % (
            asked, (1 << k) - 1, 0 if k < 7 else n if k < 21 else requests)
            for k in range(3, 41)]
        lines += ['%s_bucket{le="+Inf"} %d' % (asked, requests),
                  "%s_sum %d" % (asked, requests * 1000),
                  "%s_count %d" % (asked, requests)]
    return "".join(line + "\n" for line in lines)


def the_page_of_systemtap_is_followed(world):
    path = world.path("page")

    def write(text):
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(path + ".new", path)
    config = world.path("config.yml")
    with open(config, "w", encoding="utf-8") as f:
        f.write("trace: [prometheus]\n")
    exporter = world.exporter("--config.file=" + config, "--trace.every=1s",
                              "--trace.page=" + path)
    me = {"script": "prometheus"}

    def get(name, **labels):
        return exporter.scrape().get("konfiscator_trace_" + name, **me,
                                     **labels)

    def comes(text, calls):
        write(text)
        kftest.until("%d calls" % calls, lambda: exporter.scrape().get(
            "konfiscator_trace_events_total", -1, **me,
            event="malloc") == calls)
    exporter.says("No such file")
    exporter.says(path)
    assert get("up") == 0 and get("starts_total") == 0
    comes(stap_page(3, 0), 6)
    assert get("up") == 1 and get("starts_total") == 1
    page = exporter.scrape()
    assert page.label_values("konfiscator_trace_events_total", "event") == \
        set(names_on_the_page())
    assert "konfiscator_trace_size_bytes_count" not in page.text
    comes(stap_page(5, 12) + 'konfiscator_else{a="b"} 4\nmine_total 1\n', 10)
    size = {"event": "request"}
    assert get("size_bytes_bucket", le="63.0", **size) == 0
    assert get("size_bytes_bucket", le="127.0", **size) == 5
    assert get("size_bytes_bucket", le="1048575.0", **size) == 5
    assert get("size_bytes_bucket", le="2097151.0", **size) == 12
    assert get("size_bytes_count", **size) == 12
    assert get("size_bytes_sum", **size) == 12000
    # another run of the script, which nobody saw begin
    comes(stap_page(2, 12), 14)
    assert get("starts_total") == 2
    assert get("size_bytes_count", **size) == 24
    os.unlink(path)
    kftest.until("gone", lambda: get("up") == 0)
    comes(stap_page(2, 12), 18)
    assert get("starts_total") == 3
    os.unlink(path)
    os.symlink(path, path)  # it cannot be opened, but it is there
    kftest.until("not up", lambda: get("up") == 0)
    write(stap_page(2, 12))
    kftest.until("up again", lambda: get("up") == 1)
    assert get("events_total", event="malloc") == 18
    assert get("starts_total") == 3
    os.unlink(path)
    os.mkfifo(path)  # nobody writes: it must not wait, and it is no page
    kftest.until("not up", lambda: get("up") == 0)
    exporter.says("not written by script prometheus")
    assert get("lines_total", result="bad") > 0
    assert get("events_total", event="malloc") == 18
    assert get("size_bytes_count", **size) == 36
    subprocess.run([kftest.need("promtool"), "check", "metrics"],
                   input=exporter.scrape().text.encode(), check=True)
    assert exporter.stop() == 0


def latency_is_a_collector_of_its_own(world):
    with open(world.path("lines"), "w", encoding="utf-8") as f:
        f.write(READY + '\n{"type":"map","data":{"@total":{"alloc":7}}}\n'
                '{"type":"hist","data":{"@slow_ns":{"alloc":['
                '{"min":1024,"max":2047,"count":3}]}}}\n')
    fakes = fake(world, "cat '%s'\nwhile :; do sleep 1000 & wait; done\n"
                 % world.path("lines"))
    flags = ["--trace=latency", "--trace.scripts=" + SCRIPTS]
    exporter = traced(world, *flags, **fakes)
    slow = "konfiscator_trace_slow_call_seconds_count"
    for script in ("latency", "sizes"):
        kftest.until(script, lambda: exporter.scrape().get(
            "konfiscator_trace_events_total", 0, script=script,
            event="alloc") == 7)
    assert kftest.until("times", lambda: exporter.scrape().get(
        slow, 0, event="alloc")) == 3
    # in protobuf a native one, which takes 2^-30 seconds for a nanosecond
    before = time.time_ns()
    page = kfmetrics.scrape(exporter)
    labels = frozenset([("script", "latency"), ("event", "alloc")])
    native = page.native["konfiscator_trace_slow_call_seconds", labels]
    assert (native.schema, native.buckets) == (0, {11 - 30: 3})
    # tracers begin with the exporter, at 0
    assert before - 60 * 10 ** 9 < page.created[
        "konfiscator_trace_slow_call_seconds", labels] < before
    assert ("konfiscator_trace_events_total", labels) in page.created
    for off, other in (("latency", "sizes"), ("tracing", "latency")):
        page = traced(world, "--no-collector." + off, *flags,
                      **fakes).scrape()
        assert page.label_values("konfiscator_trace_up", "script") == {other}


kftest.main(
    a_real_tracer_is_killed_and_comes_back,
    nothing_that_is_printed_is_believed,
    one_that_cannot_run_is_tried_again,
    the_page_of_systemtap_is_followed,
    latency_is_a_collector_of_its_own,
)
