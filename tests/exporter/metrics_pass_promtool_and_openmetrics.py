# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""promtool and the OpenMetrics parser accept the page, no series is there
twice, both formats say the same, and hostile names do no harm."""

import os
import random

import kfprom
import kftest

HOSTILE = [b'a"b', b"a\\b", b"a\nb", b"\\n", b"a\xffb", b"\xc3(", b"{}=,",
           b"\x01\x7f\x1b[2J", b"# EOF", b"a b", b"\xe2\x82\xac", b"\xed\xa0\x80",
           b"\xf4\x90\x80\x80", b"}\n# TYPE x counter\nx_total 1"]


def both(exporter):
    """Check a scrape in both formats; the classic one. The memory of a living
    process may have changed in between."""
    classic = exporter.scrape()
    kfprom.promtool(classic.text.encode())
    text = exporter.scrape(Accept=kftest.OPENMETRICS).text
    parsed = kfprom.openmetrics(text)
    page = kftest.Page(text)
    assert {k: v for k, v in page.samples.items()} == parsed
    for key, value in classic.samples.items():
        if key[0].startswith("konfiscator_") and "process" in dict(
                key[1]) and key[0] != "konfiscator_resident_bytes":
            assert parsed[key] == value, (key, value)
    return classic


def an_empty_page_is_accepted(world):
    both(world.exporter())


def a_full_page_is_accepted(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, blocks="16:40:10", mmaps=23,
                     defrags=5, failed=1 << 30, calloc_calls=4,
                     realloc_calls=3, mapped=1 << 20, slabs=1 << 19,
                     dirty=1 << 62, metadata=4096, free_runs=1 << 18, threads=3)
    page = both(world.exporter())
    for name, value in (("malloc", 40), ("free", 10), ("mmap", 23),
                        ("defrag", 5), ("failed", 1 << 30)):
        assert page.get("konfiscator_%s_total" % name) == value, name
    assert page.get("konfiscator_dirty_bytes") == float(1 << 62)
    for name, text in (("malloc", "konfiscator malloc calls"),
                       ("free", "konfiscator free calls"),
                       ("mmap", "konfiscator mmap calls"),
                       ("defrag", "konfiscator defragged blocks")):
        assert "# HELP konfiscator_%s_total %s" % (name, text) in page.text
        assert page.types["konfiscator_%s_total" % name] == "counter"
    assert page.get("konfiscator_calls_total", call="malloc") == 36
    assert page.get("konfiscator_calls_total", call="realloc") == 3
    assert page.get("konfiscator_calls_total", call="free") == 10
    assert page.get("konfiscator_live_blocks") == 30
    assert page.get("konfiscator_threads") == 3
    held = sum(page.get("konfiscator_heap_bytes", state=s) for s in
               ("live", "rounding", "cached", "free", "metadata"))
    assert held == 1 << 20, held


def tags_of_any_names_are_accepted(world):
    process = world.sleeper()
    names = HOSTILE + [b"7" * 200]
    figures = {"tag.%d.allocated" % (i + 2): 1 << i
               for i in range(len(names))}
    world.stats_file("a", pid=process.pid, tag=[b"1:0:main"] + [
        b"%d:1:%s" % (i + 2, name) for i, name in enumerate(names)],
        **figures)
    page = both(world.exporter())
    live = "konfiscator_tag_live_bytes"
    assert page.get(live, tag='a"b') == 1
    assert page.get(live, tag="a\nb") == 4
    assert page.get(live, tag="7" * 63) == 1 << len(names) - 1
    total = sum(v for (name, _), v in page.samples.items() if name == live)
    assert total == (1 << len(names)) - 1, total


def sizes_fall_into_their_buckets(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, blocks="48:7:0")
    world.stats_file("b", pid=world.sleeper().pid, blocks="0:5:0",
                     large_allocated=1 << 20)
    page = both(world.exporter())
    bucket = "konfiscator_allocation_size_bytes_bucket"
    for le, value in (("16.0", 0), ("32.0", 0), ("64.0", 7), ("32768.0", 7),
                      ("+Inf", 12)):
        assert page.get(bucket, le=le) == value, le
    assert page.get("konfiscator_allocation_size_bytes_count") == 12
    assert page.get("konfiscator_allocation_size_bytes_sum") == (
        7 * 48 + (1 << 20))
    assert page.get("konfiscator_allocated_bytes_total") == 7 * 48 + (1 << 20)


def hostile_names_do_no_harm(world):
    process = world.sleeper()
    dice = random.Random(23)
    names = HOSTILE + [bytes(dice.randrange(1, 256) for _ in range(60))
                       for _ in range(50)]
    for i, name in enumerate(names):
        world.stats_file("f%d" % i, pid=process.pid, name=name, created=i + 1,
                         blocks="16:1:0")
    page = both(world.exporter())
    assert sum(v for (n, _), v in page.samples.items()
               if n == "konfiscator_malloc_total") == len(names)
    seen = page.label_values("konfiscator_malloc_total", "process")
    assert {'a"b', "a\\b", "a\nb", "\\n", "a\ufffdb", "# EOF", "\u20ac",
            "}\n# TYPE x counter\nx_total 1"} <= seen
    assert "\x1b" not in page.text


def a_thousand_random_names_are_accepted(world):
    """Of a hundred processes, ten of which live and have ninety tags each."""
    dice = random.Random(1024)

    def name():
        return bytes(dice.randrange(1, 256)
                     for _ in range(dice.randrange(1, 63)))
    for i in range(90):
        world.stats_file("f%d" % i, start=1, name=name(), blocks="16:1:0")
    for i in range(10):
        tags = range(2, 92)
        world.stats_file("g%d" % i, pid=world.sleeper().pid, name=name(),
                         blocks="16:1:0", tag=[b"1:0:main"] + [
                             b"%d:1:%s" % (t, name()) for t in tags],
                         **{"tag.%d.allocated" % t: 1 for t in tags})
    page = both(world.exporter())
    for metric, count in (("malloc_total", 100), ("tag_live_bytes", 900)):
        assert sum(v for (n, _), v in page.samples.items()
                   if n == "konfiscator_" + metric) == count, metric


def a_process_with_a_hostile_comm_does_no_harm(world):
    for i, name in enumerate(h for h in HOSTILE if len(h) < 16):
        process = world.renamer(name)
        with open("/proc/%d/stat" % process.pid, "rb") as f:
            start = f.read().rsplit(b")", 1)[1].split()[19]
        world.stats_file("f%d" % i, pid=process.pid, start=start,
                         blocks="16:1:0")
    page = both(world.exporter())
    seen = page.label_values("konfiscator_malloc_total", "process")
    wanted = {'a"b', "a\\b", "a\nb", "\\n", "a\ufffdb", "{}=,"}
    assert wanted <= seen, wanted - seen


def a_file_cannot_redefine_a_metric(world):
    process = world.sleeper()
    evil = ["malloc_total", "heap_bytes", "allocation_size_bytes", "live_total",
            "processes", "allocation_size_bytes_count", "mmap", "x y", "Z_total",
            "calls_total", "exporter_build_info", "process_exits_total",
            "allocation_size_bytes_bucket", "otlp_requests_total",
            "tag_live_bytes_total"]
    for i, metric in enumerate(evil):
        world.stats_file("f%d" % i, pid=process.pid, created=i + 1,
                         name="n%d" % i, blocks="16:1:0",
                         metric="mapped:" + metric, mapped=77)
        world.stats_file("g%d" % i, pid=process.pid, created=100 + i,
                         name="n%d" % i, metric="splits:" + metric, splits=77)
    page = both(world.exporter())
    assert page.get("konfiscator_malloc_total", process="n0") == 1
    # all files are one process': only the last one's is alive
    assert page.get("konfiscator_processes", process="n%d" % i) == 1
    taken = {n for (n, _), v in page.samples.items() if v == 77}
    assert taken <= {"konfiscator_live_total", "konfiscator_calls_total"}, taken


def a_file_cannot_take_a_metric_away(world):
    world.stats_file("tags", pid=world.sleeper().pid,
                     tag=["1:0:cache", "2:1:index"], **{"tag.2.allocated": 5})
    wanted = {"konfiscator_tag_live_bytes", "konfiscator_otlp_requests_total"}
    # in OpenMetrics a counter takes its name without _total, too
    world.stats_file("a", pid=world.sleeper().pid, mapped=77,
                     metric="mapped:otlp_requests")
    world.stats_file("b", pid=world.sleeper().pid, splits=77,
                     metric="splits:tag_live_bytes_total")
    page = both(world.exporter("--otlp.endpoint=http://127.0.0.1:1"))
    assert wanted <= {name for name, _ in page.samples}, page.text


def bad_files_are_counted_and_skipped(world):
    process = world.sleeper()
    good = world.stats_file("good", pid=process.pid, blocks="16:6:0")
    data = open(good, "rb").read()

    def write(name, content):
        with open(os.path.join(world.stats, name), "wb") as f:
            f.write(content)
    write("foreign", b"this is no stats file, whatever it may be")
    write("short", data[:1000])
    write("major", data[:8] + b"\x63\x00" + data[10:])
    write("empty", b"")
    os.mkfifo(os.path.join(world.stats, "fifo"))
    os.symlink(good, os.path.join(world.stats, "link"))
    os.mkdir(os.path.join(world.stats, "directory"))
    exporter = world.exporter()
    for _ in range(3):
        page = both(exporter)
        states = {r: page.get("konfiscator_stats_files", result=r)
                  for r in ("ok", "not_ready", "foreign", "incompatible",
                            "damaged", "error")}
        assert states == {"ok": 1, "not_ready": 1, "foreign": 4, "damaged": 1,
                          "incompatible": 1, "error": 0}, states
        assert page.get("konfiscator_malloc_total") == 6
    for name in ("foreign", "short", "major", "fifo", "link", "directory"):
        exporter.says("/%s " % name)
        assert exporter.log.count("/%s " % name) == 1, (name, exporter.log)
        assert os.path.lexists(os.path.join(world.stats, name))


def groups_beyond_the_limit_are_one(world):
    process = world.sleeper()
    for i in range(20):
        world.stats_file("f%02d" % i, pid=process.pid, name="n%d" % i,
                         created=i + 1, blocks="16:1:0")
    exporter = world.exporter("--groups.max=5")
    for _ in range(2):
        page = both(exporter)
        names = page.label_values("konfiscator_malloc_total", "process")
        assert len(names) == 6 and "other" in names
        assert page.get("konfiscator_malloc_total", process="other") == 15
        assert page.get("konfiscator_series_dropped_total",
                        limit="groups") == 15


def a_group_without_processes_is_forgotten(world):
    world.stats_file("a", start=1, name="gone", blocks="16:1:0")
    exporter = world.exporter("--groups.forget-after=5s")
    assert "gone" in exporter.scrape().label_values(
        "konfiscator_malloc_total", "process")
    kftest.until("forgotten", lambda: '"gone"' not in exporter.scrape().text)


kftest.main(
    an_empty_page_is_accepted,
    a_full_page_is_accepted,
    tags_of_any_names_are_accepted,
    sizes_fall_into_their_buckets,
    hostile_names_do_no_harm,
    a_thousand_random_names_are_accepted,
    a_process_with_a_hostile_comm_does_no_harm,
    a_file_cannot_redefine_a_metric,
    a_file_cannot_take_a_metric_away,
    bad_files_are_counted_and_skipped,
    groups_beyond_the_limit_are_one,
    a_group_without_processes_is_forgotten,
)
