# SPDX-License-Identifier: LGPL-2.1-or-later
"""bpftrace runs under the exporter and its sums are metrics; one that is killed
shows and comes back, and what a tracer prints is not believed."""

import os
import signal
import subprocess

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


kftest.main(
    a_real_tracer_is_killed_and_comes_back,
    nothing_that_is_printed_is_believed,
    one_that_cannot_run_is_tried_again,
)
