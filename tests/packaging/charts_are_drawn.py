# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""charts_are_drawn.py URL: for the tests of what is installed. In a real
browser the exporter at URL draws a timeline on its overview and on the page of
a process, and its scripts break nothing of the pages' policy."""

import os
import re
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import browser  # noqa: E402
import kftest  # noqa: E402

URL = sys.argv[1].rstrip("/")


def get(path):
    with urllib.request.urlopen(URL + path, timeout=kftest.PATIENCE) as page:
        return page.read()


def charts_are_drawn(world):
    overview = get("/")
    assert b"/static/charts.js?v=" in overview, "built without charts"
    assert b"uplot" in get("/static/licences.txt")
    link = re.search(rb"/process/[0-9a-f]{16}", overview)
    assert link, "no process is shown"
    # a look within seconds of the last one is not noted
    kftest.until("a second moment",
                 lambda: b"<polyline" in get(link[0].decode()))
    b = browser.Browser(world)
    for path in ("/", link[0].decode()):
        b.show(URL + path)
        b.until("a timeline",
                "return !!document.querySelector('.plot canvas')")
    complaints = b.complaints()
    assert not complaints, complaints


kftest.main(charts_are_drawn)
