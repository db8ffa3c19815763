# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages in Prometheus' protobuf format, read by protoc's own decoder."""

import codecs
import math
import os
import subprocess

import kftest
from kfpprof import lines_of, number, of

ACCEPT = ("application/vnd.google.protobuf;"
          "proto=io.prometheus.client.MetricFamily;encoding=delimited")
# as Prometheus 3 asks where it wants protobuf
PROMETHEUS_3 = ACCEPT + (
    ";q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;"
    "q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1")


def varint(data, at):
    """A number of protobuf, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def split(body):
    """The messages of a page, each behind its length."""
    at = 0
    while at < len(body):
        size, at = varint(body, at)
        assert at + size <= len(body), "truncated"
        yield body[at:at + size]
        at += size


def text_of(quoted):
    return codecs.escape_decode(quoted[1:-1].encode())[0].decode("utf-8")


def string(message, key):
    return text_of((of(message, key) or ['""'])[0])


def real(message, key):
    return float(number(message, key))


def labels_of(metric):
    pairs = [(string(p, "name"), string(p, "value"))
             for p in of(metric, "label")]
    assert len(dict(pairs)) == len(pairs), pairs
    return frozenset((k, v) for k, v in pairs if v)


def created_of(message):
    """Nanoseconds since 1970, or None."""
    for t in of(message, "created_timestamp"):
        return number(t, "seconds") * 10 ** 9 + number(t, "nanos")
    return None


def plain(labels):
    """Labels with the bound of a bucket as any number is written."""
    return frozenset((k, repr(float(v)) if k == "le" else v)
                     for k, v in labels)


def exemplar_of(message):
    """Labels, value and nanoseconds since 1970."""
    t, = of(message, "timestamp")
    return (dict(labels_of(message)), real(message, "value"),
            number(t, "seconds") * 10 ** 9 + number(t, "nanos"))


class Native:
    """The buckets of a native histogram: counts by index."""

    def __init__(self, h):
        self.schema = number(h, "schema")
        self.count = number(h, "sample_count")
        self.sum = real(h, "sample_sum")
        self.zero_count = number(h, "zero_count")
        self.threshold = real(h, "zero_threshold")
        self.exemplars = [exemplar_of(e)[1:] for e in of(h, "exemplars")]
        self.buckets = {}
        deltas = iter(of(h, "positive_delta"))
        at = value = 0
        for i, span in enumerate(of(h, "positive_span")):
            assert i == 0 or number(span, "offset") >= 0
            at += number(span, "offset")
            for _ in range(number(span, "length")):
                value += next(deltas)
                self.buckets[at] = value
                at += 1
        assert next(deltas, None) is None, "more differences than buckets"
        assert not of(h, "negative_span") and not of(h, "positive_count")
        assert sum(self.buckets.values()) + self.zero_count == self.count

    def upper(self, i):
        return 2.0 ** (i * 2 ** -self.schema)


class Metrics:
    """A page: samples as in the classic text, created times and native
    histograms by family and labels."""

    def __init__(self, body):
        packed = b""
        for message in split(body):
            size, length = len(message), b""
            while True:
                length += bytes([size & 0x7f | (0x80 if size > 0x7f else 0)])
                size >>= 7
                if not size:
                    break
            packed += b"\x0a" + length + message
        page = lines_of(subprocess.run(
            [kftest.need("protoc"), "--decode=Page", "--proto_path=" +
             os.path.join(kftest.SOURCE, "tests/exporter"), "metrics.proto"],
            input=packed, capture_output=True, check=True).stdout.decode())
        self.samples, self.created, self.native = {}, {}, {}
        self.types, self.help, self.units = {}, {}, {}
        self.exemplars = {}  # by family and labels with le
        for family in of(page, "family"):
            self.add_family(family)

    def add_family(self, family):
        name = string(family, "name")
        assert name not in self.types, name
        self.types[name] = (of(family, "type") or ["COUNTER"])[0].lower()
        self.help[name] = string(family, "help")
        self.units[name] = string(family, "unit")
        assert of(family, "metric"), name
        for metric in of(family, "metric"):
            value, = of(metric, self.types[name])
            # none that another type would have
            assert {k for k, _ in metric} <= {"label", self.types[name]}
            self.add(name, labels_of(metric), value)

    def put(self, name, labels, value):
        assert (name, labels) not in self.samples, (name, labels)
        self.samples[name, labels] = value

    def add(self, name, labels, value):
        if created_of(value) is not None:
            self.created[name, labels] = created_of(value)
        if self.types[name] != "histogram":
            self.put(name, labels, real(value, "value"))
            return
        for bucket in of(value, "bucket"):
            key = labels | {("le", repr(real(bucket, "upper_bound")))}
            self.put(name + "_bucket", key, number(bucket, "cumulative_count"))
            for e in of(bucket, "exemplar"):
                self.exemplars[name, key] = exemplar_of(e)
        assert self.samples[name + "_bucket", labels | {
            ("le", repr(math.inf))}] == number(value, "sample_count")
        self.put(name + "_sum", labels, real(value, "sample_sum"))
        self.put(name + "_count", labels, number(value, "sample_count"))
        if real(value, "zero_threshold"):
            self.native[name, labels] = Native(value)


def scrape(exporter, **headers):
    status, told, body = exporter.request(**dict({"Accept": ACCEPT}, **headers))
    assert status == 200, (status, body)
    assert told["Content-Type"] == ACCEPT.replace(";", "; "), told
    return Metrics(body)
