# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""Heap profiles that are sent to Pyroscope, by its push API, read by a decoder of
their own: each group has a series with its labels, and the samples of its page."""

import os
import shutil
import ssl

import kfmetrics
import kfpprof
import kftest
import kfweb
from kfreceiver import Receiver

PATH = "/push.v1.PusherService/Push"


def flags(receiver, *more):
    return ("--pyroscope.endpoint=http://127.0.0.1:%d" % receiver.port,
            "--pyroscope.interval=1s", *more)


def fields(data):
    """Number and contents of each field, all of which have a length."""
    at = 0
    while at < len(data):
        key, at = kfmetrics.varint(data, at)
        assert key & 7 == 2, "field %d is no string or message" % (key >> 3)
        length, at = kfmetrics.varint(data, at)
        assert at + length <= len(data)
        yield key >> 3, data[at:at + length]
        at += length


def series_of(request):
    """Labels and profiles of each series of a request."""
    _, headers, body, _ = request
    assert headers["Content-Type"] == "application/proto", headers
    assert headers["Content-Encoding"] is None, headers
    found = []
    for number, series in fields(body):
        assert number == 1
        labels, profiles = {}, []
        for kind, message in fields(series):
            parts = dict(fields(message))
            if kind == 1:
                name, value = parts[1].decode(), parts[2].decode()
                assert name not in labels, "label twice: " + name
                labels[name] = value
            else:
                assert kind == 2 and set(parts) == {1}, (kind, parts)
                profiles.append(kfpprof.Profile(parts[1]))
        found.append((labels, profiles))
    return found


def samples(profile):
    return sorted((calls, values, sorted(map(str, labels.items())))
                  for calls, values, labels in profile.samples)


def each_group_has_the_samples_of_its_page(world):
    program = kftest.Stacks(world, "a", "leaky 20000000 0 64 boot",
                            "cache 90000000 60000000 4096")
    other = kftest.Stacks(world, "b", "leaky 7000000 0 64",
                          binary=shutil.copy(kftest.MKSTACKS,
                                             world.path("other")))
    world.stats_file("c", pid=world.sleeper().pid, blocks="64:23:5")
    receiver = Receiver()
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = (
        "k8s.node.name=n1,9lives=x,service.name=no,a-b=1,a.b=2,__name__=no,"
        "empty=")
    try:
        exporter = world.exporter(*flags(receiver))
    finally:
        del os.environ["OTEL_RESOURCE_ATTRIBUTES"]
    kftest.until("both", lambda: len(receiver.of(PATH)) >= 2)
    got = {}
    for request in receiver.of(PATH)[:2]:
        (labels, (profile,)), = series_of(request)
        got[labels.pop("service_name")] = labels, profile
    # a process without samples has no profile
    assert set(got) == {"mkstacks", "other"}, got
    for name, process in (("mkstacks", program.process),
                          ("other", other.process)):
        labels, profile = got[name]
        labels.pop("container_id", None)
        assert labels == {"__name__": "memory", "k8s_node_name": "n1",
                          "_9lives": "x", "a_b": "1",
                          "host_name": os.uname().nodename}, labels
        status, _, body = exporter.request(
            "/debug/pprof/heap?pid=%d" % process.pid)
        assert status == 200
        wanted = kfpprof.Profile(body)
        assert profile.types == wanted.types == [
            "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
        assert profile.samples and samples(profile) == samples(wanted)
        assert profile.builds == wanted.builds
    page = exporter.scrape()
    assert page.get("konfiscator_pyroscope_requests_total",
                    result="accepted") >= 2
    assert "konfiscator_otlp" not in page.text


def what_it_refuses_is_logged_and_not_sent_again(world):
    kftest.Stacks(world, "a", "leaky 20000000 0 64 boot")
    receiver = Receiver((400, {"Content-Type": "application/json"},
                         b'{"code":"invalid_argument",'
                         b'"message":"no\\u001b tenant"}'))
    exporter = world.exporter(*flags(receiver, "--pyroscope.interval=2s"))
    exporter.says('msg="Pyroscope receiver takes nothing" signal=profiles '
                  'error="status 400: no  tenant"')
    kftest.until("it is counted", lambda: exporter.scrape().get(
        "konfiscator_pyroscope_requests_total", result="refused") >= 2)
    assert exporter.log.count("takes nothing") == 1, exporter.log
    times = [r[3] for r in receiver.got]
    assert all(b - a > 1 for a, b in zip(times, times[1:])), times
    for answer in (b"", b"[1]", b"{", b'{"message":7}', b"\xff" * 100000):
        receiver.answers = [(400, {}, answer)]
        before = len(receiver.got)
        kftest.until("it goes on", lambda: len(receiver.got) > before)
    receiver.answers = [(200, {}, b"")]
    exporter.says("Pyroscope receiver takes requests again")


def what_it_cannot_take_now_is_sent_again(world):
    kftest.Stacks(world, "a", "leaky 20000000 0 64 boot")
    receiver = Receiver((503, {"Retry-After": "1"}, b""), (200, {}, b""))
    exporter = world.exporter(*flags(receiver, "--pyroscope.interval=5s"))
    kftest.until("it is sent again", lambda: len(receiver.got) >= 2)
    first, second = receiver.got[:2]
    assert first[2] == second[2] and second[3] - first[3] >= 0.99
    kftest.until("it is counted", lambda: exporter.scrape().get(
        "konfiscator_pyroscope_requests_total", result="accepted") == 1)


def receivers_do_not_wait_for_each_other(world):
    kftest.Stacks(world, "a", "leaky 20000000 0 64 boot")
    slow, quick = Receiver(), Receiver()
    slow.delay_s = 8
    exporter = world.exporter(
        *flags(quick), "--otlp.endpoint=http://127.0.0.1:%d" % slow.port,
        "--otlp.interval=1s")
    kftest.until("one is asked", lambda: slow.got)
    before = len(quick.got)
    kftest.until("the other goes on", lambda: len(quick.got) >= before + 3)
    assert len(slow.got) <= 2
    sent = len(quick.got)
    assert exporter.stop() == 0
    assert len(quick.got) > sent, "nothing at the end"


def headers_and_authorities_are_files(world):
    kftest.Stacks(world, "a", "leaky 20000000 0 64 boot")
    kfweb.make_all(world)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(world.path("server.crt"), world.path("server.key"))
    receiver = Receiver(context=context)
    with open(world.path("headers"), "w", encoding="utf-8") as f:
        f.write("X-Scope-OrgID: 7\n")
    url = "--pyroscope.endpoint=https://localhost:%d/base/" % receiver.port
    exporter = world.exporter(
        url, "--pyroscope.interval=1s",
        "--pyroscope.headers-file=" + world.path("headers"),
        "--pyroscope.ca-file=" + world.path("ca.crt"))
    kftest.until("a profile", lambda: receiver.of("/base" + PATH))
    assert receiver.got[0][1]["X-Scope-OrgID"] == "7"
    exporter.stop()
    before = len(receiver.got)
    exporter = world.exporter(url, "--pyroscope.interval=1s")
    exporter.says("Pyroscope receiver takes nothing")
    assert len(receiver.got) == before


def wrong_flags_are_told(world):
    for flag, wanted in (
            ("--pyroscope.endpoint=localhost:4040",
             "expected a URL such as http://localhost:4040"),
            ("--pyroscope.interval=0s", "expected a time of 1s to 1d"),
            ("--pyroscope.headers-file=/x", "needs --pyroscope.endpoint"),
            ("--pyroscope.ca-file=/x", "needs --pyroscope.endpoint")):
        kftest.refuses(wanted, flag)


kftest.main(
    each_group_has_the_samples_of_its_page,
    what_it_refuses_is_logged_and_not_sent_again,
    what_it_cannot_take_now_is_sent_again,
    receivers_do_not_wait_for_each_other,
    headers_and_authorities_are_files,
    wrong_flags_are_told,
)
