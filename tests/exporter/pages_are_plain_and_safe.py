# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""What a person sees in a browser: overview, the page of a process, and the
files beside them. Every page is well-formed; a script comes only from a file
of ours, and where none is built in the policy allows none; names are text,
whatever they are.
"""

import json
import os
import re
import subprocess
import time
import xml.etree.ElementTree as xml

import kftest

HOSTILE = b"<script>alert('1')</script>&\""
BYTES = b"\xff\x01<b x=\"\n"


def parsed(body):
    """A page as a tree; the parser ends the test where it is not one."""
    text = body.decode("utf-8", "strict")
    assert text.startswith("<!DOCTYPE html>\n")
    return xml.fromstring(text.split("\n", 1)[1])


def words(element):
    return " ".join("".join(element.itertext()).split())


def section(page, name):
    found = [e for e in page.iter() if e.get("id") == name]
    assert len(found) == 1, (name, len(found))
    return found[0]


def rows(page, name):
    return [words(tr) for tr in section(page, name).iter("tr")][1:]


def get(exporter, path):
    status, headers, body = exporter.request(path)
    assert status == 200, (path, status, body)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    return parsed(body)


def links(page):
    return [a.get("href") for a in page.iter("a")]


def process_links(page):
    return [h for h in links(page) if h.startswith("/process/")]


def one_process(world, **values):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, **values)
    return process


def the_overview_adds_up(world):
    for file in ("a", "b"):
        process = world.sleeper()
        world.stats_file(file, pid=process.pid, name="twin",
                         blocks="16:1500:500", mapped=1 << 20,
                         free_runs=1 << 19)
    page = get(world.exporter(), "/")
    cards = words(section(page, "cards"))
    assert "Processes2in 1 group" in cards, cards
    assert "2.00 MiB" in cards and "98.5 % of it free" in cards, cards
    assert "in 2000 blocks" in cards, cards
    (group,) = rows(page, "groups")
    assert group.startswith("twin2 ") or group.startswith("twin2"), group
    assert len(rows(page, "processes")) == 2
    assert len(set(process_links(page))) == 2


def a_process_has_a_page(world):
    process = one_process(
        world, name="worker", blocks=["32:7:7", "16:1500:500"], failed=3,
        tag="1:0:main", **{"tag.1.allocated": 4096, "tag.1.mallocs": 1})
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    for path in (link, "/process?pid=%d" % process.pid):
        page = get(exporter, path)
        assert str(process.pid) in words(section(page, "identity"))
        size, _, empty = rows(page, "sizes")  # a head in between
        assert re.match(r"16 B1000", size), size
        assert re.match(r"32 B0.*77$", empty), empty
        (tag,) = rows(page, "tags")
        assert tag.startswith("main4.00 KiB"), tag
        assert rows(page, "threads")
        assert any(r.startswith("failed3") for r in rows(page, "counters"))


def a_process_has_its_verdict(world):
    one_process(world, name="hoarder", mapped=80 << 20, free_runs=60 << 20,
                dirty=60 << 20)
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    text = words(section(get(exporter, link), "verdict"))
    # the sleeper's own memory is no heap, whatever its file says
    assert "not the heap: " in text and "which has 60.0Mi" in text, text


def a_process_shows_its_own_limit(world):
    one_process(world, name="limited", mapped=80 << 20, limit=100 << 20)
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    cards = words(section(get(exporter, link), "cards"))
    assert "Limit of held memory100 MiB20.0 MiB are left" in cards, cards


def who_has_no_samples_is_told_how_to_get_some(world):
    process = one_process(world, name="worker")
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    text = words(section(get(exporter, link), "sites"))
    assert "konfiscator ctl %d sample=64K samples" % process.pid in text, text


MAP = ["1:0x7f0000020000:65536:0:0:0", "1:0x7f0000030000:0:0:512:65024",
       "2:0x7f0000000000:0:0:0:65536", "2:0x7f0000010000:8192:56320:1024:0"]


def a_process_shows_the_map_of_its_heap(world):
    process = one_process(world, name="worker")
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    text = words(section(get(exporter, link), "map"))
    assert "konfiscator ctl %d map=now lets" % process.pid in text, text
    world.stats_file("a", pid=process.pid, name="worker", cell=MAP,
                     created=1700000000 * 10 ** 9)
    shown = section(get(exporter, link), "map")
    text = words(shown)
    assert text.startswith(
        "Map of the heap As of 2023-11-14 22:13:21 UTC, in 2 regions: 56.0 %"
        " of 128 KiB is in use, 55.0 KiB are free blocks, 1.50 KiB dirty free"
        " pages. Each cell is 64.0 KiB."), text
    low, high = shown.iter("figure")
    assert words(low.find("figcaption")).startswith(
        "0x7f0000000000 12.5 % of 64.0 KiB is in use, 55.0 KiB are free")
    assert [(p.get("class"), p.get("d")) for p in low.find("svg").iter("path")
            ] == [("m-1", "M0 0h1v.9h-1z"), ("m1", "M1 0h1v.9h-1z")]
    assert [p.get("class") for p in high.find("svg").iter("path")] == \
        ["m0", "m10"]
    assert low.find("svg").get("aria-label") == "12.5 % of it is in use"
    assert words(high.find("svg").find("rect")) == (
        "0x7f0000020000 to 0x7f0000040000: 99.2 % of 64.5 KiB is in use")
    # the map of one that has ended is its last one
    world.stats_file("a", pid=process.pid, name="worker", cell=MAP)
    world.end(process)
    kftest.until("it has ended",
                 lambda: process_links(get(exporter, "/ended")))
    (link,) = process_links(get(exporter, "/ended"))
    assert "map=now" not in words(section(get(exporter, link), "map"))


def long_maps_are_drawn_in_lines_and_cut(world):
    one_process(world, cell=["1:%d:%d:1:0:0" % (4096 + 2 * i, 1)
                             for i in range(300)] +
                ["%d:%d:1:0:0:0" % (2 + i, 8192 + 2 * i) for i in range(200)])
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    shown = section(get(exporter, link), "map")
    first = next(shown.iter("figure"))
    assert [p.get("d") for p in first.find("svg").iter("path")] == \
        ["M0 0h128v.9h-128zM0 1h128v.9h-128zM0 2h44v.9h-44z"]
    assert len(list(first.iter("rect"))) == 3
    assert len(list(shown.iter("figure"))) == 100
    assert "and 101 more regions" in words(shown)


def an_impossible_map_is_none(world):
    process = one_process(world, cell=MAP[:3] + ["2:0x7f0000010001:1:0:0:0"])
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    text = words(section(get(exporter, link), "map"))
    assert "konfiscator ctl %d map=now lets" % process.pid in text, text


def sites_are_by_bytes_or_by_blocks(world):
    program = kftest.Stacks(world, "a", "cache 4000000 0 4096",
                            "leaky 1000000 0 64")
    exporter = world.exporter()
    (link,) = set(process_links(get(exporter, "/")))

    def of(query):
        shown = section(get(exporter, link + query), "sites")
        return [words(s).split("\u2039")[0].split()
                for s in shown.iter("summary")], links(shown)
    by_bytes, other = of("")
    assert [s[0:2] + s[-1:] for s in by_bytes] == [
        ["3.81", "MiB", "cache"], ["977", "KiB", "leaky"]], by_bytes
    assert other == [link + "?by=blocks#sites"], other
    assert of("?by=bytes") == of("") == of("?by=no<such"), by_bytes
    by_blocks, other = of("?by=blocks")
    assert [s[:1] + s[-2:] for s in by_blocks] == [
        ["15.6", "blocks", "leaky"], ["977", "blocks", "cache"]], by_blocks
    assert other == [link + "?by=bytes#sites"], other
    for query, metric in ("", "live"), ("?by=blocks", "live_blocks"):
        shown = section(get(exporter, link + query), "flame")
        assert shown.find("div").get("data-metric") == metric
    status, _, body = exporter.request(
        "/api/v1/stacks?pid=%d" % program.process.pid)
    root = json.loads(body)
    assert status == 200 and root["live"] == 5000000, root["live"]
    assert 16600 < root["live_blocks"] < 16602, root["live_blocks"]
    assert root["allocated_blocks"] == root["live_blocks"]
    assert root["live_blocks_error_95"] > 0


def calls_of(node):
    return {node["name"]}.union(*map(calls_of, node.get("children", [])))


def stacks_begin_after_wrappers_of_malloc(world):
    program = kftest.Stacks(world, "a", "wrapped 1000000 0 64")
    exporter = world.exporter()
    query = "?pid=%d" % program.process.pid
    (site,) = [e for e in get(exporter, "/process" + query).iter("details")
               if "wrapped" in words(e)]
    assert words(site.find("summary").find("code")).startswith("wrapped")
    assert words(site.find("ol").find("li")).startswith("wrapped")
    status, _, body = exporter.request("/api/v1/stacks" + query)
    assert status == 200, (status, body)
    calls = calls_of(json.loads(body))
    assert "wrapped" in calls and "xmalloc" not in calls, calls


def who_has_ended_is_shown_as_long_as_the_file_is(world):
    process = one_process(world, name=HOSTILE, mapped=80 << 20,
                          blocks="16:3:1", tag="1:0:main")
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    assert "None" in words(get(exporter, "/ended"))
    world.end(process)
    page = get(exporter, "/ended")
    assert process_links(page) == [link], process_links(page)
    row = words(section(page, "ended"))
    for wanted in (HOSTILE.decode(), str(process.pid), "UTC", "80.0 MiB"):
        assert wanted in row, (wanted, row)
    page = get(exporter, link)
    text = words(section(page, "end"))
    assert "konfiscator post-mortem -p %d" % process.pid in text, text
    assert "80.0 MiB" in words(section(page, "cards"))
    assert "main" in words(section(page, "tags"))
    # it is no living process
    assert process_links(get(exporter, "/")) == []
    assert exporter.request("/process?pid=%d" % process.pid)[0] == 404
    os.unlink(world.path("stats", "a"))
    kftest.until("no page", lambda: exporter.request(link)[0] == 404)
    assert "None" in words(get(exporter, "/ended"))


def who_is_not_there_has_none(world):
    process = one_process(world, name="worker")
    exporter = world.exporter()
    (link,) = process_links(get(exporter, "/"))
    world.end(process)
    os.unlink(world.path("stats", "a"))
    for path in (link, "/process", "/process?pid=0", "/process?pid=-1",
                 "/process?pid=%d" % process.pid, "/process?pid=1x",
                 "/process?pid=99999999999999999999", "/process/",
                 "/process/0", "/process/..%2f..", "/process/" + "f" * 999):
        status, headers, body = exporter.request(path)
        assert status == 404, (path, status)
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert "No such process" in words(parsed(body)), path


def hostile_names_are_text(world):
    first = world.renamer(b"x<i>\"'&\n\x7f")
    world.stats_file("a", pid=first.pid, blocks="16:3:1")
    second = world.sleeper()
    world.stats_file(
        "b", pid=second.pid, name=HOSTILE, comm=BYTES,
        tag=b"1:0:" + HOSTILE, **{"tag.1.allocated": 1})
    world.stats_file("<u>'&", size=100)
    exporter = world.exporter()
    page = get(exporter, "/")
    assert HOSTILE.decode() in "".join(page.itertext())
    assert "<u>'&" in words(section(page, "warnings"))
    found = process_links(page)
    assert len(found) == 2
    for path in ["/"] + found:
        page = get(exporter, path)
        tags = {e.tag for e in page.iter()}
        assert not tags & {"i", "u", "style"}, tags
        assert all(re.match(r"/static/(charts|flame|live)\.js\?v=", e.get("src"))
                   and not e.text for e in page.iter("script"))


def warnings_name_what_is_wrong(world):
    one_process(world, name="sick", failed=7, double_frees=2, lost_slots=1,
                mapped=1 << 30, free_runs=900 << 20)
    with open(world.path("stats", "bad.1.x"), "w", encoding="ascii") as f:
        f.write("garbage")
    exporter = world.exporter()
    text = words(section(get(exporter, "/"), "warnings"))
    for wanted in ("sick: 7 requests that got no memory",
                   "sick: 2 frees of a block that was already free",
                   "sick: 1 threads for whose counters the stats file had no room",
                   "% of what it holds, are free pages",
                   "bad.1.x is not shown: it is not a stats file"):
        assert wanted in text, (wanted, text)


def without_reason_there_is_no_warning(world):
    exporter = world.exporter()
    assert "No process yet" in words(get(exporter, "/"))
    one_process(world, name="well", blocks="16:9:2")
    page = get(exporter, "/")
    assert not [e for e in page.iter() if e.get("id") == "warnings"]


def nothing_comes_from_elsewhere(world):
    one_process(world, name="worker")
    exporter = world.exporter()
    for path in ["/"] + process_links(get(exporter, "/")):
        _, headers, _ = exporter.request(path)
        policy = headers["Content-Security-Policy"]
        assert "unsafe" not in policy and "*" not in policy, policy
        assert "default-src 'none'" in policy, policy
        assert "script-src 'self'" in policy, policy
        assert headers["Cache-Control"] == "no-store"
        for e in get(exporter, path).iter():
            assert not [a for a in e.attrib
                        if a == "style" or a.startswith("on")], e.attrib
            for target in (e.get("href"), e.get("src")):
                assert not target or re.match(r"/(?!/)", target), target


def files_beside_the_pages_may_be_kept(world):
    exporter = world.exporter()
    page = get(exporter, "/")
    files = [e.get("href") for e in page.iter("link")]
    files += [e.get("src") for e in page.iter("script")]
    assert len(files) in (5, 7), files
    for path in files:
        assert re.search(r"\?v=[0-9a-f]{16}$", path), path
        status, headers, body = exporter.request(path)
        assert status == 200 and len(body) > 100, path
        assert "immutable" in headers["Cache-Control"], path
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Type"] in (
            "text/css; charset=utf-8", "image/svg+xml",
            "text/javascript; charset=utf-8"), path
    status = exporter.request("/static/licences.txt")[0]
    assert status == (200 if len(files) == 7 else 404), status


def history_grows_by_the_exporters_clock(world):
    one_process(world, name="worker", mapped=1 << 20)
    exporter = world.exporter("--history.every=1s")
    time.sleep(3)  # nobody looks
    (link,) = process_links(get(exporter, "/"))

    def history(query):
        status, headers, body = exporter.request("/api/v1/history" + query)
        assert status == 200 and headers["Content-Type"] == "application/json"
        return json.loads(body)
    assert len(history("")["time"]) >= 2, history("")
    of_it = history("?id=" + link.rsplit("/", 1)[1])
    assert of_it["time"] == sorted(of_it["time"])
    assert of_it["free"][-1] + of_it["live"][-1] + of_it["cached"][-1] + \
        of_it["rounding"][-1] + of_it["metadata"][-1] == 1 << 20, of_it
    for unknown in ("123", "", "zz", "0x", "1g", "-"):
        assert history("?id=" + unknown)["time"] == [], unknown
    page = get(exporter, link)
    assert len(list(page.iter("polyline"))) == 1


def totals_have_rates_and_lines_have_numbers(world):
    began = time.monotonic()
    created = time.time_ns()  # both files are of one process
    process = one_process(world, name="busy", blocks="16:1000:500",
                          mapped=3 << 20, created=created)
    exporter = world.exporter("--history.every=4s")
    page = get(exporter, "/")
    assert "/s" not in words(section(page, "cards"))
    assert ", max " not in words(section(page, "processes"))
    (link,) = process_links(page)

    def rate(part, page):
        found = re.search(r"([\d.]+)( k)?/s", words(section(page, part)))
        return found and float(found[1]) * (1000 if found[2] else 1)
    world.stats_file("a", pid=process.pid, name="busy", mapped=2 << 20,
                     blocks="16:81000:40500", created=created)
    kftest.until("a rate", lambda: rate("processes", get(exporter, "/")))
    page = get(exporter, "/")
    of_all = rate("processes", page)
    least = 79000 / (time.monotonic() - began)  # 3 digits are shown
    assert least < of_all < 80000 / 3.9, (least, of_all)
    assert rate("cards", page) == rate("groups", page) == of_all
    assert "2.00 MiB, max 3.00 MiB" in words(section(page, "processes"))
    page = get(exporter, link)
    assert "2.00 MiB, max 3.00 MiB" in words(section(page, "lately"))
    cards = words(section(page, "cards"))
    assert rate("cards", page) == of_all, cards
    assert re.search(r"81\.0 k [\d.]+ k/s40\.5 k of free, [\d.]+( k)?/s", cards), \
        cards


def a_checker_of_html_finds_no_fault(world):
    tidy = kftest.need("tidy")
    one_process(world, name=HOSTILE, failed=1, tag="1:0:main", cell=MAP)
    exporter = world.exporter()
    for path in ["/", "/process"] + process_links(get(exporter, "/")):
        checked = subprocess.run(
            [tidy, "-quiet", "-errors", "-utf8"],
            input=exporter.request(path)[2], capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr.decode()


kftest.main(
    the_overview_adds_up,
    a_process_has_a_page,
    a_process_has_its_verdict,
    a_process_shows_its_own_limit,
    who_has_no_samples_is_told_how_to_get_some,
    a_process_shows_the_map_of_its_heap,
    long_maps_are_drawn_in_lines_and_cut,
    an_impossible_map_is_none,
    sites_are_by_bytes_or_by_blocks,
    stacks_begin_after_wrappers_of_malloc,
    who_has_ended_is_shown_as_long_as_the_file_is,
    who_is_not_there_has_none,
    hostile_names_are_text,
    warnings_name_what_is_wrong,
    without_reason_there_is_no_warning,
    nothing_comes_from_elsewhere,
    files_beside_the_pages_may_be_kept,
    totals_have_rates_and_lines_have_numbers,
    history_grows_by_the_exporters_clock,
    a_checker_of_html_finds_no_fault,
)
