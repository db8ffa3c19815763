# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages in OpenMetrics 2.0, by the grammar of its release candidate; only what
an exporter of counters, gauges and histograms needs of it."""

import math
import re

import kfmetrics
from kftest import Page

ACCEPT = "application/openmetrics-text; version=2.0.0"
REAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
LABELS = r'\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\}'
COUNTS = r"\[(?:\d+(?:,\d+)*)?\]"
SPANS = r"\[-?\d+:[1-9]\d*(?:,\d+:[1-9]\d*)*\]"
HISTOGRAM = re.compile(
    r"\{count:(\d+),sum:(%s)(?:,schema:(-?\d+),zero_threshold:(%s),"
    r"zero_count:(\d+)(?:,positive_spans:(%s),positive_buckets:(%s))?)?"
    r",bucket:\[((?:%s:\d+,)*\+Inf:\d+)\]\}$" % (
        REAL, REAL, SPANS, COUNTS, REAL))
SAMPLE = re.compile(
    r"([a-zA-Z_:][\w:]*)(%s)? (\{[^ ]*\}|%s)(?: st@(\d+\.\d{3}))?"
    r"((?: # %s %s %s)*)$" % (LABELS, REAL, LABELS, REAL, REAL))
EXEMPLAR = re.compile(r" # (%s) (%s) (%s)" % (LABELS, REAL, REAL))


def labels_of(text):
    return frozenset(
        (k, re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), v))
        for k, v in Page.LABEL.findall(text or "") if v)


class Native:
    """As kfmetrics.Native, from absolute counts."""

    def __init__(self, match):
        self.schema, self.threshold = int(match[3]), float(match[4])
        self.zero_count = int(match[5])
        self.buckets = {}
        counts = [int(n) for n in (match[7] or "[]")[1:-1].split(",") if n]
        at = 0
        for span in (match[6] or "[]")[1:-1].split(","):
            if not span:
                continue
            offset, length = map(int, span.split(":"))
            at += offset
            for _ in range(length):
                self.buckets[at] = counts.pop(0)
                at += 1
        assert not counts
        assert sum(self.buckets.values()) + self.zero_count == int(match[1])


class OpenMetrics2:
    """A page, with what kfmetrics.Metrics has, times in milliseconds."""

    def __init__(self, text):
        assert text.endswith("# EOF\n")
        self.samples, self.created, self.native = {}, {}, {}
        self.types, self.help, self.units = {}, {}, {}
        self.exemplars = {}
        family = None
        for line in text[:-len("# EOF\n")].splitlines():
            if line.startswith("# "):
                _, key, family, told = line.split(" ", 3)
                table = {"TYPE": self.types, "UNIT": self.units,
                         "HELP": self.help}[key]
                assert family not in table, line
                # the order is TYPE, UNIT, HELP
                assert (key == "TYPE") == (family not in self.types)
                assert family not in self.help
                table[family] = told
                continue
            match = SAMPLE.match(line)
            assert match and match[1] == family, line
            self.add(family, labels_of(match[2]), match)

    def put(self, name, labels, value):
        assert (name, labels) not in self.samples, (name, labels)
        self.samples[name, labels] = value

    def add(self, name, labels, match):
        if match[4]:
            self.created[name, labels] = round(float(match[4]) * 1000)
        exemplars = [(dict(labels_of(a)), float(b), round(float(c) * 1000))
                     for a, b, c in EXEMPLAR.findall(match[5])]
        if exemplars:
            self.exemplars[name, labels] = exemplars
        if self.types[name] != "histogram":
            self.put(name, labels, float(match[3]))
            return
        h = HISTOGRAM.match(match[3])
        assert h, match[3]
        bounds = [(float(le), int(count)) for le, count in
                  (b.rsplit(":", 1) for b in h[8].split(","))]
        assert bounds == sorted(bounds) and bounds[-1] == (math.inf, int(h[1]))
        for le, count in bounds:
            self.put(name + "_bucket", labels | {("le", repr(le))}, count)
        self.put(name + "_sum", labels, float(h[2]))
        self.put(name + "_count", labels, int(h[1]))
        if h[3]:
            self.native[name, labels] = Native(h)


def scrape(exporter):
    status, told, body = exporter.request(Accept=ACCEPT)
    assert status == 200
    assert told["Content-Type"] == ACCEPT + "; charset=utf-8"
    return OpenMetrics2(body.decode("utf-8", "strict"))


def same(page, other):
    """Compare with a page of kfmetrics, but for what changes all the time."""
    assert isinstance(other, kfmetrics.Metrics)
    assert set(page.samples) == set(other.samples)
    assert page.types == other.types
    assert page.help == {k: v.replace("\\", "\\\\").replace('"', '\\"')
                         for k, v in other.help.items()}
    assert page.units == {k: v for k, v in other.units.items() if v}
    assert page.created == {k: v // 10 ** 6 for k, v in other.created.items()}
    assert set(page.native) == set(other.native)
    own = ("konfiscator_scrape_", "konfiscator_exporter_", "konfiscator_http_",
           "process_")
    for key, value in page.samples.items():
        assert key[0].startswith(own) or value == other.samples[key], key
    for key, native in page.native.items():
        wanted = other.native[key]
        assert (native.schema, native.threshold, native.zero_count) == (
            wanted.schema, wanted.threshold, wanted.zero_count)
        assert key[0].startswith(own) or native.buckets == wanted.buckets, key
