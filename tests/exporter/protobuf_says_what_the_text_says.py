# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""Protobuf, by the published messages and protoc's own decoder, has the names,
labels and values of the text; native histograms are its buckets; a real
Prometheus reads both. OpenMetrics 2.0 has all that protobuf has."""

import math
import time

import kfmetrics
import kfopenmetrics2
import kfprom
import kftest

QUIET = ["--no-collector.resident", "--no-collector.cgroup"]
SIZES = "konfiscator_allocation_size_bytes"
TAKEN = "konfiscator_exporter_scrape_duration_seconds"
SCHEMA_0 = range(4, 17)  # of the sizes' buckets: 16 bytes to 64 KiB


def text_samples(page):
    return {(name, kfmetrics.plain(labels)): value
            for (name, labels), value in page.samples.items()}


def both(exporter):
    """The same scrape in protobuf and as text; what changes is there in
    both."""
    exporter.scrape()  # so that the next ones count a request
    page = kfmetrics.scrape(exporter)
    text = exporter.scrape()
    wanted = text_samples(text)
    assert set(page.samples) == set(wanted), set(page.samples) ^ set(wanted)
    assert page.types == text.types
    for line in text.text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, told = line.split(" ", 3)
            assert page.help[name] == told, line
    stays = {k: v for k, v in wanted.items() if not k[0].startswith(
        ("konfiscator_scrape_", "konfiscator_exporter_", "konfiscator_http_",
         "process_"))}
    assert stays
    for key, value in stays.items():
        assert page.samples[key] == value, (key, value, page.samples[key])
    kfopenmetrics2.same(kfopenmetrics2.scrape(exporter), page)
    return page, text


def a_full_page_is_the_same(world):
    for i, name in enumerate((b'a"b', b"a\\b", b"a\nb", b"\\n", b"a,b=\"c",
                              b"\xe2\x82\xac", b"a\xffb")):
        world.stats_file("f%d" % i, pid=world.sleeper().pid, name=name,
                         blocks=["16:40:10", "48:7:1", "4096:3:3", "0:5:1"],
                         mmaps=23, failed=1 << 30, dirty=1 << 62,
                         large_allocated=1 << 20, tag="1:0:parser",
                         **{"tag.1.allocated": 4096, "tag.1.mallocs": 4})
    exporter = world.exporter("--collector.sizes", *QUIET)
    page, _ = both(exporter)
    assert page.types[SIZES] == "histogram"
    assert page.units[SIZES] == page.units["konfiscator_heap_bytes"] == "bytes"
    assert page.units["konfiscator_malloc_total"] == ""
    for name in ('a"b', "a\\b", "a\nb", "\\n", 'a,b="c', "\u20ac", "a\ufffdb"):
        assert page.samples["konfiscator_malloc_total",
                            frozenset([("process", name)])] == 55


def created_times_and_native_histograms_are_in_openmetrics_2(world):
    world.stats_file("a", pid=world.sleeper().pid, name="some",
                     blocks=["16:40:10", "48:7:0", "1024:3:3", "0:5:0"],
                     large_allocated=1 << 20, created=1700000000123456789)
    exporter = world.exporter(*QUIET)
    status, _, body = exporter.request(Accept=kfopenmetrics2.ACCEPT)
    assert status == 200
    lines = body.decode().splitlines()
    labels = '{process="some",container=""}'
    assert "konfiscator_malloc_total%s 55 st@1700000000.123" % labels in lines
    line, = [li for li in lines if li.startswith(SIZES + labels)]
    assert line.endswith(",+Inf:55]} st@1700000000.123"), line
    assert (",zero_count:0,positive_spans:[4:1,1:1,3:1,5:1],"
            "positive_buckets:[40,7,3,5],bucket:[16.0:40,32.0:40,64.0:47,"
            ) in line, line
    line, = [li for li in lines if li.startswith("konfiscator_processes" +
                                                 labels)]
    assert line.endswith(" 1"), "a gauge has no such time"


def an_empty_page_is_the_same(world):
    both(world.exporter())


def native_buckets_are_the_buckets(world):
    world.stats_file("a", pid=world.sleeper().pid, name="some",
                     blocks=["16:40:10", "48:7:0", "1024:3:3", "0:5:0"],
                     large_allocated=1 << 20)
    world.stats_file("b", pid=world.sleeper().pid, name="none")
    page, _ = both(world.exporter(*QUIET))
    group = frozenset([("process", "some")])
    native = page.native[SIZES, group]
    assert native.schema == 0 and native.zero_count == 0
    # (8, 16], (32, 64], (512, 1024] and the one for all that is larger
    assert native.buckets == {4: 40, 6: 7, 10: 3, 16: 5}, native.buckets
    assert native.sum == page.samples[SIZES + "_sum", group]
    at_most = 0
    for i in SCHEMA_0:
        at_most += native.buckets.get(i, 0)
        le = repr(native.upper(i) if i < SCHEMA_0[-1] else math.inf)
        assert at_most == page.samples[SIZES + "_bucket",
                                       group | {("le", le)}], i
    # one that has no observations is a native one all the same
    none = page.native[SIZES, frozenset([("process", "none")])]
    assert none.count == 0 and none.buckets == {} and none.threshold > 0


def scrapes_are_a_native_histogram_of_eight_to_a_doubling(world):
    before = time.time_ns()
    exporter = world.exporter(*QUIET)
    after = time.time_ns()
    for _ in range(20):
        exporter.scrape()
    key = TAKEN, frozenset()
    page = kfmetrics.scrape(exporter)
    native = page.native[key]
    assert (native.schema, native.count, native.zero_count) == (3, 20, 0)
    assert before < page.created[key] < after
    low = sum(native.upper(i - 1) * n for i, n in native.buckets.items())
    high = sum(native.upper(i) * n for i, n in native.buckets.items())
    assert low < native.sum <= high, (low, native.sum, high)
    text = exporter.scrape()
    assert text.types[TAKEN] == "histogram"
    assert text.get(TAKEN + "_count") == 21
    # bounds of the text are bounds of native buckets, so they count the same
    for (name, labels), value in page.samples.items():
        le = float(dict(labels).get("le", "inf"))
        if name == TAKEN + "_bucket" and le < math.inf:
            assert value == sum(n for i, n in native.buckets.items()
                                if native.upper(i) <= le), le


def created_times_are_the_same(world):
    """OpenMetrics has them only if that is wanted, to the millisecond."""
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, name="some", blocks="16:40:10",
                     created=1700000000123456789)
    page = kfmetrics.scrape(world.exporter(*QUIET))
    group = frozenset([("process", "some")])
    for name in ("konfiscator_malloc_total", SIZES):
        assert page.created[name, group] == 1700000000123456789, name
    # those of all counters that are a group's, and of no gauge
    for (name, labels) in page.samples:
        if "process" not in dict(labels):
            continue
        family = name if name in page.types else name.rsplit("_", 1)[0]
        plain = frozenset(p for p in labels if p[0] != "le")
        assert ((family, plain) in page.created) == (
            page.types[family] != "gauge"), name
    assert "_created" not in world.exporter(*QUIET).scrape(
        Accept=kftest.OPENMETRICS).text
    exporter = world.exporter("--openmetrics.created", *QUIET)
    assert "_created" not in exporter.scrape().text
    samples = kfprom.openmetrics(exporter.scrape(
        Accept=kftest.OPENMETRICS).text)
    wanted = kfmetrics.scrape(exporter).created
    found = {key: value for key, value in samples.items()
             if key[0].endswith("_created")}
    assert len(found) == len(wanted)
    for (name, labels), ns in wanted.items():
        plain = name[:-6] if name.endswith("_total") else name
        assert round(found[plain + "_created", labels] * 1000) == \
            ns // 10 ** 6, name


def a_real_prometheus_reads_it(world):
    """The one of Debian 12 asks for protobuf if it is to have native
    histograms."""
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, name="some",
                     blocks=["16:40:10", "48:7:0", "1024:3:3"], mmaps=23)
    exporter = world.exporter(*QUIET)
    prometheus = kfprom.Prometheus(world, exporter.port,
                                   flags=["--enable-feature=native-histograms"])
    group = '{process="some"}'

    def value(expr, wanted):
        result, = kftest.until(expr, lambda: prometheus.query(expr))
        assert float(result["value"][1]) == wanted, (expr, result)
    value("konfiscator_malloc_total" + group, 50)
    value("konfiscator_mmap_total" + group, 23)
    value("histogram_count(%s%s)" % (SIZES, group), 50)
    value("histogram_sum(%s%s)" % (SIZES, group), 40 * 16 + 7 * 48 + 3 * 1024)
    value("histogram_fraction(0, 64, %s%s)" % (SIZES, group), 47 / 50)
    value("histogram_fraction(64, 512, %s%s)" % (SIZES, group), 0)
    # and it was protobuf, by which it has no classic one
    assert not prometheus.query(SIZES + "_bucket")


kftest.main(
    a_full_page_is_the_same,
    created_times_and_native_histograms_are_in_openmetrics_2,
    an_empty_page_is_the_same,
    native_buckets_are_the_buckets,
    scrapes_are_a_native_histogram_of_eight_to_a_doubling,
    created_times_are_the_same,
    a_real_prometheus_reads_it,
)
