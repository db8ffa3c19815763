# SPDX-License-Identifier: LGPL-2.1-or-later
"""page_is_followed.py FILE: the exporter follows a page that SystemTap's script
prometheus printed, and has each of its numbers. The tests in virtual machines
run it on the page of a module that ran there."""

import re
import sys

import kftest

PREFIX = "konfiscator_"
HISTOGRAM = PREFIX + "request_bytes"


def numbers(path):
    """Of each series of a page its number, without the names of programs,
    which are added up."""
    found = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                series = re.sub(r'\{process=.*', "", series)
                found[series] = found.get(series, 0) + int(value)
    return found


def followed(series, page):
    """What the exporter has of a series of the page."""
    trace = {"script": "prometheus"}
    counter = re.fullmatch(PREFIX + r"(\w+)_total", series)
    if counter:
        return page.get(PREFIX + "trace_events_total", -1,
                        event=counter[1], **trace)
    part = re.fullmatch(HISTOGRAM + r'_(\w+)(?:\{le="([^"]+)"\})?', series)
    assert part, "no series of the script: " + series
    if part[2]:
        trace["le"] = part[2] if part[2] == "+Inf" else part[2] + ".0"
    return page.get(PREFIX + "trace_size_bytes_" + part[1], -1,
                    event="request", **trace)


def a_page_of_systemtap_is_followed(world):
    path = sys.argv[1]
    wanted = numbers(path)
    assert wanted[PREFIX + "malloc_total"] > 0, wanted
    assert wanted[HISTOGRAM + "_count"] > 0, wanted
    exporter = world.exporter("--trace=prometheus", "--trace.every=1s",
                              "--trace.page=" + path)
    kftest.until("up", lambda: exporter.scrape().get(
        "konfiscator_trace_up", script="prometheus") == 1)
    page = exporter.scrape()
    compared = 0
    for series, value in wanted.items():
        got = followed(series, page)
        # the exporter's buckets are 21 of those that the page has
        if got != -1 or "_bucket" not in series:
            assert got == value, (series, value, got)
            compared += 1
    buckets = [n for n, have in page.samples
               if n == "konfiscator_trace_size_bytes_bucket"]
    assert compared >= len(buckets) + 4 > 20, (compared, len(buckets))
    assert page.get("konfiscator_trace_lines_total", result="bad") == 0
    assert exporter.stop() == 0
    print(compared, "numbers are the page's")


kftest.main(a_page_of_systemtap_is_followed)
