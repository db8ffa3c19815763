# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""Metrics and profiles that are sent to a receiver of OTLP, read by protoc's own
decoder: each value of a page is there, with the group as its resource, and the
profile has the samples of the pages. Requests are sent again when and only when
the receiver says so, and a receiver that is away does no harm."""

import collections
import gzip
import json
import math
import os
import shutil
import ssl
import subprocess
import time

import kfpprof
import kftest
import kfweb
from kfmetrics import string
from kfpprof import lines_of, number, of
from kfreceiver import Receiver

METRICS, PROFILES = "/v1/metrics", "/v1development/profiles"


def flags(receiver, *more):
    return ("--otlp.endpoint=http://127.0.0.1:%d" % receiver.port,
            "--otlp.interval=1s", *more)


def decode(message, request):
    _, headers, body, _ = request
    assert headers["Content-Type"] == "application/x-protobuf", headers
    if headers["Content-Encoding"]:
        assert headers["Content-Encoding"] == "gzip"
        body = gzip.decompress(body)
    assert len(body) < 20 << 20
    return lines_of(subprocess.run(
        [kftest.need("protoc"), "--decode=otlp." + message, "--proto_path=" +
         os.path.join(kftest.SOURCE, "tests/exporter"), "otlp.proto"],
        input=body, capture_output=True, check=True).stdout.decode())


def attributes(message, key="attributes"):
    pairs = {}
    for a in of(message, key):
        value, = of(a, "value")
        assert string(a, "key") not in pairs
        pairs[string(a, "key")] = string(value, "string_value")
    return pairs


Point = collections.namedtuple("Point", "type start_ns time_ns value unit")


def buckets(point, name, labels, put):
    total, bounds = 0, of(point, "explicit_bounds")
    counts = of(point, "bucket_counts")
    assert len(counts) == len(bounds) + 1
    for bound, count in zip([*map(float, bounds), math.inf], counts):
        total += count
        put(name + "_bucket", {**labels, "le": repr(bound)}, total)
    assert total == number(point, "count")
    put(name + "_count", labels, total)
    put(name + "_sum", labels, float(number(point, "sum")))


def points_of(requests):
    """Values by name, resource and labels, as on a page."""
    points = {}
    for request in requests:
        message = decode("ExportMetricsServiceRequest", request)
        for r in of(message, "resource_metrics"):
            resource = attributes(of(r, "resource")[0])
            scope, = of(r, "scope_metrics")
            assert string(of(scope, "scope")[0], "name") == "konfiscator"
            for metric in of(scope, "metrics"):
                add_metric(points, resource, metric)
    return points


def add_metric(points, resource, metric):
    name = string(metric, "name")
    type_, = [k for k, _ in metric if k in ("gauge", "sum", "histogram")]
    data, = of(metric, type_)
    if type_ == "sum":
        assert of(data, "is_monotonic") == ["true"], name
    if type_ != "gauge":
        assert of(data, "aggregation_temporality") == [
            "AGGREGATION_TEMPORALITY_CUMULATIVE"], name
    for point in of(data, "data_points"):
        labels = attributes(point)
        if resource["service.name"] != "konfiscator_exporter":
            labels["process"] = resource["service.name"]
        if "container.id" in resource:
            labels["container"] = resource["container.id"]

        def put(name, labels, value):
            key = (name, frozenset((k, v) for k, v in labels.items() if v))
            assert key not in points, key
            points[key] = Point(type_, number(point, "start_time_unix_nano"),
                                number(point, "time_unix_nano"), value,
                                string(metric, "unit"))
        if type_ == "histogram":
            buckets(point, name, labels, put)
        else:
            kinds = [k for k, _ in point if k.startswith("as_")]
            put(name, labels, float(of(point, kinds[0])[0]))


def values_are_those_of_the_page(world):
    begun = time.time_ns()
    world.stats_file("a", pid=world.sleeper().pid, blocks="64:23:5,1024:7:0")
    world.stats_file("b", pid=world.sleeper().pid, blocks="16:3:1",
                     name='odd "name"\\')
    receiver = Receiver()
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = (
        "deployment.environment=a%2Cb, service.name=no,bad, k8s.node.name = n1 ,"
        " =x,,\udcff=y,spaces=a%20b%zz")
    try:
        exporter = world.exporter(*flags(
            receiver, "--no-collector.cgroup", "--no-collector.resident"))
    finally:
        del os.environ["OTEL_RESOURCE_ATTRIBUTES"]
    # of the first requests: later ones have what was sent before
    kftest.until("metrics", lambda: receiver.of(METRICS))
    points = points_of(receiver.of(METRICS)[:1])
    page = exporter.scrape()
    moving = ("process_", "konfiscator_scrape", "konfiscator_http",
              "konfiscator_otlp", "konfiscator_exporter_scan",
              "konfiscator_collector")
    seen = 0
    for (name, labels), value in page.samples.items():
        if name.startswith(moving):
            continue
        plain = frozenset((k, repr(float(v)) if k == "le" else v)
                          for k, v in labels)
        point = points[name, plain]
        assert point.value == value, (name, labels, point, value)
        if point.type != "gauge":
            assert 0 < point.start_ns <= point.time_ns, (name, point)
        assert begun <= point.time_ns <= time.time_ns(), point
        if name.endswith("_bytes") or "_bytes_" in name:
            assert point.unit in ("By", ""), (name, point)
        seen += 1
    assert seen > 100, seen
    assert page.get("konfiscator_malloc_total", process='odd "name"\\') == 3
    message = decode("ExportMetricsServiceRequest", receiver.of(METRICS)[0])
    for r in of(message, "resource_metrics"):
        resource = attributes(of(r, "resource")[0])
        assert resource["deployment.environment"] == "a,b", resource
        assert resource["k8s.node.name"] == "n1", resource
        assert resource["\ufffd"] == "y"
        assert resource["spaces"] == "a b%zz"
        assert len(resource) == 6 + ("container.id" in resource), resource
        assert resource["service.name"] != "no"
        assert resource["host.name"] == os.uname().nodename
    page = exporter.scrape()
    assert page.get("konfiscator_otlp_requests_total", signal="metrics",
                    result="accepted") >= 1
    assert not receiver.of(PROFILES)


def names(table, index, text, key="name_strindex"):
    return text[number(table[index], key)]


def profiles_are_those_of_the_pages(world):
    program = kftest.Stacks(world, "a", "leaky 20000000 0 64 boot",
                            "cache 90000000 60000000 4096")
    receiver = Receiver()
    exporter = world.exporter(*flags(receiver, "--otlp.profiles"))
    kftest.until("a profile", lambda: receiver.of(PROFILES))
    pid = program.process.pid
    status, _, body = exporter.request("/debug/pprof/heap?pid=%d" % pid)
    assert status == 200
    wanted = kfpprof.Profile(body)
    message = decode("ExportProfilesServiceRequest", receiver.of(PROFILES)[0])
    r, = of(message, "resource_profiles")
    assert attributes(of(r, "resource")[0])["service.name"] == "mkstacks"
    d, = of(message, "dictionary")
    tables = {t: of(d, t + "_table") for t in (
        "mapping", "location", "function", "link", "stack", "attribute")}
    text = [json.loads(s) for s in of(d, "string_table")]
    assert text[0] == "" and all(not t[0] for t in tables.values()), tables
    got = {}
    for profile in of(of(r, "scope_profiles")[0], "profiles"):
        kind, = of(profile, "sample_type")
        assert text[number(kind, "unit_strindex")] in ("bytes", "count")
        add_samples(got, profile, tables, text,
                    text[number(kind, "type_strindex")])
    for calls, values, labels in wanted.samples:
        key = (tuple(calls), frozenset((k, str(v)) for k, v in labels.items()))
        had = got.pop(key)
        assert [had.get(t, 0) for t in wanted.types] == values, (key, had)
    assert not got, got
    builds = {text[number(m, "filename_strindex")]: [
        (text[number(a, "key_strindex")],
         string(of(a, "value")[0], "string_value"))
        for a in (tables["attribute"][i]
                  for i in of(m, "attribute_indices"))]
        for m in tables["mapping"][1:]}
    for path, build in wanted.builds.items():
        assert builds[path] == (
            [("process.executable.build_id.gnu", build)] if build else []), path


def add_samples(got, profile, tables, text, kind):
    assert len(of(profile, "profile_id")) == 1
    for sample in of(profile, "samples"):
        calls = []
        for place in of(tables["stack"][number(sample, "stack_index")],
                        "location_indices"):
            for line in of(tables["location"][place], "lines"):
                calls.append(names(tables["function"],
                                   number(line, "function_index"), text))
        labels = set()
        for i in of(sample, "attribute_indices"):
            a = tables["attribute"][i]
            value, = of(a, "value")
            labels.add((text[number(a, "key_strindex")],
                        string(value, "string_value") or
                        str(number(value, "int_value"))))
        value, = of(sample, "values")
        had = got.setdefault((tuple(calls), frozenset(labels)), {})
        had[kind] = had.get(kind, 0) + value


def requests_are_sent_again_if_asked(world):
    world.stats_file("a", pid=world.sleeper().pid, blocks="64:23:5")
    for status in (429, 502, 503, 504):
        receiver = Receiver((status, {"Retry-After": "1"}, b"no"), (200, {}, b""))
        exporter = world.exporter(*flags(receiver, "--otlp.interval=5s"))
        kftest.until("it is sent again", lambda: len(receiver.got) >= 2)
        first, second = receiver.got[:2]
        assert gzip.decompress(first[2]) == gzip.decompress(second[2])
        assert second[3] - first[3] >= 0.99, status
        kftest.until("it is counted", lambda: exporter.scrape().get(
            "konfiscator_otlp_requests_total", signal="metrics",
            result="accepted") == 1)
        exporter.says("OTLP receiver takes requests again")
        exporter.stop()
        receiver.close()
    for status in (400, 404, 413, 500, 302):
        receiver = Receiver((status, {"Location": "/elsewhere"}, b"no"))
        exporter = world.exporter(*flags(receiver, "--otlp.interval=2s"))
        kftest.until("it is counted", lambda: exporter.scrape().get(
            "konfiscator_otlp_requests_total", signal="metrics",
            result="refused") >= 2)
        exporter.says("status %d" % status)
        assert exporter.log.count("takes nothing") == 1, exporter.log
        bodies = [gzip.decompress(r[2]) for r in receiver.got]
        assert len(set(bodies)) == len(bodies), "sent again"
        assert {r[0] for r in receiver.got} == {METRICS}
        exporter.stop()
        receiver.close()


def no_answer_floods_a_receiver(world):
    world.stats_file("a", pid=world.sleeper().pid, blocks="64:23:5")
    receiver = Receiver((503, {"Retry-After": "9223372036854775807"}, b""))
    exporter = world.exporter(*flags(receiver, "--otlp.interval=2s"))
    kftest.until("it is counted", lambda: exporter.scrape().get(
        "konfiscator_otlp_requests_total", signal="metrics",
        result="dropped") >= 2)
    assert len(receiver.got) <= 4, len(receiver.got)
    exporter.stop()
    receiver.close()
    # an answer that is longer than any message counts by its status
    for status, result in ((200, "accepted"), (400, "refused")):
        receiver = Receiver((status, {}, b"x" * 200000))
        exporter = world.exporter(*flags(receiver, "--otlp.interval=2s"))
        kftest.until("it is counted", lambda: exporter.scrape().get(
            "konfiscator_otlp_requests_total", signal="metrics",
            result=result) >= 2)
        page = exporter.scrape()
        assert page.get("konfiscator_otlp_requests_total", signal="metrics",
                        result="dropped") == 0
        bodies = [gzip.decompress(r[2]) for r in receiver.got]
        assert len(set(bodies)) == len(bodies), "sent again"
        exporter.stop()
        receiver.close()


def metrics_and_profiles_fail_by_themselves(world):
    program = kftest.Stacks(world, "a", "leaky 20000000 0 64 boot")
    assert program.process.pid
    receiver = Receiver()
    receiver.status_of = {PROFILES: 404}
    exporter = world.exporter(*flags(receiver, "--otlp.profiles"))
    kftest.until("it is counted", lambda: exporter.scrape().get(
        "konfiscator_otlp_requests_total", signal="profiles",
        result="refused") >= 3)
    assert exporter.log.count("takes nothing") == 1, exporter.log
    assert "takes requests again" not in exporter.log
    receiver.status_of = {}
    exporter.says("OTLP receiver takes requests again\" signal=profiles")


def a_slow_receiver_does_not_delay_the_end(world):
    for i in range(6):
        kftest.Stacks(world, "s%d" % i, "leaky 20000000 0 64 boot",
                      binary=shutil.copy(kftest.MKSTACKS,
                                         world.path("program%d" % i)))
    receiver = Receiver()
    receiver.delay_s = 3
    exporter = world.exporter(*flags(receiver, "--otlp.profiles"))
    kftest.until("a profile", lambda: receiver.of(PROFILES))
    before = time.monotonic()
    assert exporter.stop() == 0
    assert 4 < time.monotonic() - before < 8, time.monotonic() - before


def what_a_receiver_says_is_logged(world):
    for body, wanted in ((b"\x08\x03\x12\x08too\x1b old", "status 400: too  old\""),
                         (b"\x12\xff", 'status 400"'),
                         (b"<html>no</html>", 'status 400"'),
                         (b"", 'status 400"')):
        receiver = Receiver((400, {}, body))
        exporter = world.exporter(*flags(receiver))
        exporter.says(wanted)
        exporter.stop()
        receiver.close()


def rejected_parts_are_counted(world):
    world.stats_file("a", pid=world.sleeper().pid, blocks="64:23:5")
    message = b"\x0a\x09\x08\x03\x12\x05a\x1b[mb"
    receiver = Receiver((200, {}, message))
    exporter = world.exporter(*flags(receiver))
    kftest.until("it is counted", lambda: exporter.scrape().get(
        "konfiscator_otlp_rejected_items_total", signal="metrics") >= 3)
    exporter.says("took only a part")
    assert "\x1b" not in exporter.log
    receiver.answers = [(200, {}, b"\xff" * 100)]  # no message
    before = len(receiver.got)
    kftest.until("it goes on", lambda: len(receiver.got) > before + 1)


def a_warning_about_what_was_taken_is_logged_once(world):
    message = b"\x0a\x0d\x12\x0bold\x1b schema"  # 0 rejected
    receiver = Receiver((200, {}, message))
    exporter = world.exporter(*flags(receiver))
    exporter.says('took all, with a warning" signal=metrics error="old  schema"')
    before = len(receiver.got)
    kftest.until("it goes on", lambda: len(receiver.got) > before + 1)
    assert exporter.log.count("with a warning") == 1, exporter.log
    page = exporter.scrape()
    assert page.get("konfiscator_otlp_rejected_items_total",
                    signal="metrics") == 0
    assert page.get("konfiscator_otlp_requests_total", signal="metrics",
                    result="accepted") > 1


def a_receiver_that_is_away_does_no_harm(world):
    world.stats_file("a", pid=world.sleeper().pid, blocks="64:23:5")
    port = kftest.free_port()
    exporter = world.exporter("--otlp.endpoint=http://127.0.0.1:%d/" % port,
                              "--otlp.interval=1s")
    kftest.until("it is counted", lambda: exporter.scrape().get(
        "konfiscator_otlp_requests_total", signal="metrics",
        result="dropped") >= 2)
    assert exporter.log.count("takes nothing") == 1, exporter.log
    before = time.monotonic()
    assert exporter.stop() == 0
    assert time.monotonic() - before < 8


def counts_of_requests_have_a_created_time(world):
    exporter = world.exporter("--otlp.endpoint=http://127.0.0.1:1",
                              "--openmetrics.created")
    page = exporter.scrape_text(Accept=kftest.OPENMETRICS)
    for name, nr in (("requests", 6), ("rejected_items", 2)):
        assert page.count("\nkonfiscator_otlp_%s_total{" % name) == nr, page
        assert page.count("\nkonfiscator_otlp_%s_created{" % name) == nr, page


def the_last_counts_are_sent_at_the_end(world):
    world.stats_file("a", pid=world.sleeper().pid, blocks="64:23:5")
    receiver = Receiver()
    exporter = world.exporter(*flags(receiver, "--otlp.interval=1h"))
    assert exporter.stop() == 0
    points = points_of(receiver.of(METRICS))
    assert [p.value for (n, _), p in points.items()
            if n == "konfiscator_malloc_total"] == [23]


def headers_and_authorities_are_files(world):
    kfweb.make_all(world)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(world.path("server.crt"), world.path("server.key"))
    receiver = Receiver(context=context)
    endpoint = "--otlp.endpoint=https://localhost:%d/base/" % receiver.port
    path = world.path("headers")
    with open(path, "w") as f:
        f.write("# a token\nAuthorization: Bearer secret\n\nX-Scope-OrgID: 7\n")
    exporter = world.exporter(endpoint, "--otlp.interval=1s",
                              "--otlp.headers-file=" + path,
                              "--otlp.ca-file=" + world.path("ca.crt"))
    kftest.until("metrics", lambda: receiver.of("/base" + METRICS))
    headers = receiver.got[0][1]
    assert headers["Authorization"] == "Bearer secret"
    assert headers["X-Scope-OrgID"] == "7"
    with open(path, "w") as f:
        f.write("Authorization: Bearer other\n")
    kftest.until("the new token", lambda: receiver.got[-1][1][
        "Authorization"] == "Bearer other")
    with open(path, "w") as f:
        f.write("very secret\n")
    exporter.says("not lines of NAME: VALUE")
    assert "secret" not in exporter.log
    exporter.stop()
    with open(path, "w") as f:
        f.write("X: %s\n" % ("y" * 100) * 200)
    exporter = world.exporter(endpoint, "--otlp.interval=1s",
                              "--otlp.headers-file=" + path,
                              "--otlp.ca-file=" + world.path("ca.crt"))
    exporter.says("more than 16384 bytes")
    exporter.stop()
    # a stranger's authority, and the system's
    kfweb.make_ca(world, "stranger")
    for more in ((), ("--otlp.ca-file=" + world.path("stranger.crt"),)):
        before = len(receiver.got)
        exporter = world.exporter(endpoint, "--otlp.interval=1s", *more)
        exporter.says("takes nothing")
        assert len(receiver.got) == before
        exporter.stop()


def wrong_flags_are_told(world):
    for flag, wanted in (
            ("--otlp.endpoint=localhost:4318",
             "--otlp.endpoint: invalid value 'localhost:4318': expected a URL "
             "such as http://localhost:4318"),
            ("--otlp.endpoint=ftp://x", "expected a URL"),
            ("--otlp.endpoint=http://", "expected a URL"),
            ("--otlp.endpoint=http://a/?b", "expected a URL"),
            ("--otlp.endpoint=http://[::1", "expected a URL"),
            ("--otlp.endpoint=http://a:70000", "expected a URL"),
            ("--otlp.interval=0s", "expected a time of 1s to 1d"),
            ("--otlp.interval=2d", "expected a time of 1s to 1d")):
        kftest.refuses(wanted, flag)


kftest.main(
    values_are_those_of_the_page,
    profiles_are_those_of_the_pages,
    requests_are_sent_again_if_asked,
    no_answer_floods_a_receiver,
    metrics_and_profiles_fail_by_themselves,
    a_slow_receiver_does_not_delay_the_end,
    what_a_receiver_says_is_logged,
    rejected_parts_are_counted,
    a_warning_about_what_was_taken_is_logged_once,
    a_receiver_that_is_away_does_no_harm,
    counts_of_requests_have_a_created_time,
    the_last_counts_are_sent_at_the_end,
    headers_and_authorities_are_files,
    wrong_flags_are_told,
)
