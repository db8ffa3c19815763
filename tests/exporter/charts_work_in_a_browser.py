# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""In a real browser the pages draw their charts, zoom and search, and break
nothing of their policy; without scripts they still say what they know; they
fit narrow screens, in light and in dark; names stay text. What grew while the
browser looked is called a leak.

KF_KEEP_PICTURES=DIRECTORY keeps pictures of the pages there.
"""

import os
import re
import shutil

import browser
import kftest

HOSTILE = "<img src=x onerror=\"document.title='bad'\">&'"
FLAME = "document.querySelector('[data-calls]').flame"
BAR = "[...document.querySelectorAll('.flame-bars g')].find(" \
    "g => g.dataset.name === arguments[0])"

# Pixels of a canvas that have a colour of the style sheet.
PAINTED = """
const c = document.querySelector(".plot canvas");
const probe = document.createElement("canvas").getContext("2d");
probe.fillStyle = getComputedStyle(document.documentElement)
    .getPropertyValue("--" + arguments[0]).trim();
probe.fillRect(0, 0, 1, 1);
const want = probe.getImageData(0, 0, 1, 1).data;
const have = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
let n = 0;
for (let i = 0; i < have.length; i += 4)
    n += have[i] === want[0] && have[i + 1] === want[1] &&
        have[i + 2] === want[2];
return n;
"""


class Scene:
    """A process with samples and hostile names, an exporter, a browser."""

    def __init__(self, world):
        program = world.path(HOSTILE)
        shutil.copy(kftest.MKSTACKS, program)
        self.stacks = kftest.Stacks(
            world, "a", "leaky 20000000 0 64 <i>boot",
            "cache 90000000 60000000 4096", "inlined 8000000 1000000 512",
            "free_runs=40000000", binary=program)
        self.world = world
        self.blocks = 300000
        self.grow()
        self.exporter = world.exporter("--history.every=2s")
        page = self.get("/")
        if b"charts.js" not in page:
            raise kftest.Skip("built without charts (Node.js or npm)")
        self.link = re.search(rb"/process/[0-9a-f]{16}", page)[0].decode()
        self.browser = browser.Browser(world)
        # a look within seconds of the last one is not noted
        kftest.until("a second moment",
                     lambda: b"<polyline" in self.get(self.link))

    def grow(self):
        self.blocks += 500  # of what is mapped there must be some left
        self.stacks.tell("state 64:%d:10" % self.blocks)
        self.stacks.tell("mapped=%d" % (100000000 + 64 * self.blocks))

    def get(self, path):
        return self.exporter.request(path)[2]

    def show(self, path, **how):
        self.browser.show("http://127.0.0.1:%d%s" % (
            self.exporter.port, path), **how)

    def wait_for_flame(self):
        """Until its bars stand where they belong."""
        self.browser.until("a flame graph", "return !!(%s && %s)" % (
            FLAME, "document.querySelector('.flame-bars rect')"))
        self.browser.until(
            "bars in their place",
            "const g = %s; const r = (%s).querySelector('rect');"
            "return Math.abs(r.getBoundingClientRect().width - "
            "g.box.clientWidth) < 2" % (FLAME, BAR), "all")


def width_of(b, name):
    return b.run("const g = %s; return g ? "
                 "g.querySelector('rect').getBoundingClientRect().width : 0"
                 % BAR, name)


def timelines_are_drawn_and_zoomed(scene):
    b = scene.browser
    for path in ("/", scene.link):
        scene.show(path)
        b.until("a canvas", "return !!document.querySelector('.plot canvas')")
        b.until("live memory on it", PAINTED.replace(
            "return n;", "return n > 1000;"), "live")
        assert b.run(PAINTED, "free") > 1000
    scales = "const s = document.querySelector('.plot').timeline.plot" \
        ".scales.x; return [s.min, s.max]"
    first = b.run(scales)
    assert b.run("return document.querySelector('.reset').hidden")
    b.drag(".plot .u-over", 0.25, 0.75)
    kftest.until("a zoom", lambda: b.run(scales) != first)
    start, end = b.run(scales)
    share = (end - start) / (first[1] - first[0])
    assert 0.4 < share < 0.6, share
    b.run("document.querySelector('.reset').click()")
    kftest.until("all of it again", lambda: b.run(scales) == first)


def a_flame_graph_zooms_and_searches(scene):
    b = scene.browser
    scene.show(scene.link)
    scene.wait_for_flame()
    full = width_of(b, "all")
    assert abs(width_of(b, "cache") / full - 30 / 57) < 0.01
    b.picture("process-light-wide")
    b.run("(%s).dispatchEvent(new MouseEvent('click'))" % BAR, "cache")
    kftest.until("a zoom", lambda: abs(width_of(b, "cache") - full) < 2)
    assert width_of(b, "leaky") < 2
    b.run(FLAME + ".tools.reset.click()")
    kftest.until("all of it again",
                 lambda: abs(width_of(b, "cache") - full * 30 / 57) < 5)
    b.run("const i = %s.tools.search; i.value = 'LEAKY';"
          "i.dispatchEvent(new Event('input'))" % FLAME)
    assert b.run("return %s.tools.found.value" % FLAME) == \
        "1 call, 19.1 MiB, 35.1 %"
    fill = "return getComputedStyle((%s).querySelector('rect')).fill" % BAR
    assert b.run(fill, "leaky") != b.run(fill, "cache")
    b.run("const c = %s.tools.metric; c.value = 'allocated';"
          "c.dispatchEvent(new Event('input'))" % FLAME)
    kftest.until("bars of another metric", lambda: abs(
        width_of(b, "cache") - full * 90 / 118) < 5)
    title = "return (%s).querySelector('title').textContent" % BAR
    assert re.match(r"main in .*\n113 MiB \u00b1 [\d.]+ MiB, 100.0 % of all",
                    b.run(title, "main")), b.run(title, "main")
    b.run("const f = %s; f.calls.find(c => c.name === 'main').recursive = "
          "true; f.draw()" % FLAME)
    assert b.run(title, "main").startswith("main (recursive) in ")


def a_flame_graph_counts_blocks(scene):
    b = scene.browser
    scene.show(scene.link + "?by=blocks")
    scene.wait_for_flame()
    assert b.run("return %s.tools.metric.value" % FLAME) == "live_blocks"
    words = b.run("return (%s).querySelector('title').textContent" % BAR,
                  "leaky")
    assert re.search(r"\n312500 blocks \u00b1 \d+ blocks, 9\d\.\d % of all",
                     words), words
    assert b.run("return document.querySelector('#sites summary b')"
                 ".textContent") == "312 k"
    b.picture("process-by-blocks")


def a_flame_graph_is_inverted_and_turned(scene):
    b = scene.browser
    scene.show(scene.link)
    scene.wait_for_flame()
    below = "const y = n => [...document.querySelectorAll('.flame-bars g')]" \
        ".find(g => g.dataset.name === n).getBoundingClientRect().y;" \
        "return y('all') > y('main')"
    assert b.run(below)
    toggle = "const c = %s.tools[arguments[0]].lastChild; " \
        "c.checked = !c.checked; c.dispatchEvent(new Event('input'))" % FLAME
    b.run(toggle, "top")
    assert not b.run(below)
    b.run(toggle, "inverted")
    leaves = b.run("return %s.root.children.map(c => c.name)" % FLAME)
    assert leaves[:2] == ["cache", "leaky"], leaves
    callers = b.run("return %s.root.children[0].children.map(c => c.name)"
                    % FLAME)
    assert callers == ["take_frames"], callers


def number_of(b, title):
    """What a card says."""
    return b.run("return [...document.querySelectorAll('.card')].find(c => "
                 "c.querySelector('h2').textContent === arguments[0])"
                 ".querySelector('p').textContent", title)


def pages_are_live(scene):
    b = scene.browser
    scene.show(scene.link)
    scene.wait_for_flame()
    b.run("document.querySelector('#counters details').open = true;"
          "document.body.dataset.same = 'page'")
    points = "return document.querySelector('.plot').timeline.past.time.length"
    had = b.run(points)
    asof = "return document.querySelector('#as-of span').textContent"
    first = b.run(asof)
    scene.stacks.tell("leaky 80000000 0 64 <i>boot")
    scene.stacks.tell("mapped=400000000")
    scene.stacks.tell("state 64:2000000:10")
    kftest.until("a tile", lambda: number_of(b, "Live") == "122 MiB")
    kftest.until("a table", lambda: b.run(
        "return document.querySelector('#sites summary').textContent")
        .startswith("76.3 MiB"))
    kftest.until("the flame graph", lambda: abs(
        width_of(b, "leaky") / width_of(b, "all") - 80 / 117) < 0.01)
    kftest.until("the timeline", lambda: b.run(points) > had)
    assert b.run(asof) != first
    # a change since the page was opened, in red; the rest stayed
    b.run("const t = %s.tools; t.compare.lastChild.checked = true;"
          "t.since.value = 0; t.compare.lastChild.dispatchEvent("
          "new Event('input'))" % FLAME)
    title = "return (%s).querySelector('title').textContent" % BAR
    assert "before 19.1 MiB, change +57.2 MiB \u00b1 " in \
        b.run(title, "leaky"), b.run(title, "leaky")
    assert "before 28.6 MiB, change 0 B \u00b1 0 B" in b.run(title, "cache")
    fill = "return getComputedStyle((%s).querySelector('rect')).fill" % BAR
    red, _, blue = map(int, re.findall(r"\d+", b.run(fill, "leaky"))[:3])
    assert red > blue + 30, (red, blue)
    # of many moments every second is left out
    b.run("const f = %s; do f.update({...f.data, moments: ['x']});"
          "while (f.data.moments.length !== 60);"
          "f.update({...f.data, moments: ['last']})" % FLAME)
    assert b.run("return %s.tools.data.moments.length" % FLAME) == 31
    assert "before 19.1 MiB, change +57.2 MiB" in b.run(title, "leaky")
    # what was unfolded is, and nothing was loaded anew but data
    assert b.run("return document.querySelector('#counters details').open")
    assert b.run("return document.body.dataset.same") == "page"
    b.run("document.querySelector('#pause').click()")
    paused = b.run(asof)
    scene.stacks.tell("state 64:3000000:10")
    kftest.until("another second", lambda: scene.get(scene.link) and
                 b.run("return Date.now() - performance.timeOrigin") > 5000)
    assert b.run(asof) == paused
    assert number_of(b, "Live") == "122 MiB"
    b.run("document.querySelector('#pause').click()")
    kftest.until("it goes on", lambda: number_of(b, "Live") == "183 MiB")


def totals_have_rates(scene):
    """Beside a total stands how fast it grew since the look before."""
    b = scene.browser
    scene.show(scene.link, width=400)
    # each look: the total, the time, and the text of the rate
    b.run("""
        const looks = window.looks = [];
        function look() {
            const cell = document.querySelector(
                '#sizes tr[data-key="64"] [data-label=Mallocs]');
            looks.push([Number(cell.dataset.total),
                Number(document.querySelector('#as-of span').dataset.ms),
                cell.querySelector('small')?.textContent ?? null]);
        }
        look();
        new MutationObserver(look).observe(
            document.querySelector('#sizes'), {childList: true});
        document.querySelector('#sizes').scrollIntoView();
    """)

    def growth():
        """The first look with a larger total, and the one before it."""
        looks = b.run("return window.looks")
        return next((pair for pair in zip(looks, looks[1:])
                     if pair[1][0] > pair[0][0]), None)
    kftest.until("a look", lambda: b.run("return window.looks.length > 1"))
    scene.stacks.tell("state 64:5000000:10")
    kftest.until("growth", growth)
    b.picture("process-light-rates")
    assert b.run("return document.documentElement.scrollWidth") <= 400
    (before, since, _), (total, now, text) = growth()
    rate = (total - before) / (now - since) * 1000
    number, unit = re.fullmatch(r"([\d.]+) ([kM])/s", text).groups()
    said = float(number) * {"k": 1e3, "M": 1e6}[unit]
    assert abs(said / rate - 1) < 0.05, (before, since, total, now, text)
    kftest.until("rest", lambda: b.run("return window.looks.at(-1)[2]") ==
                 "0/s")


def names_stay_text(scene):
    b = scene.browser
    for path in ("/", scene.link):
        scene.show(path)
        b.until("the scripts' end", "return document.querySelector('canvas')")
        text = b.run("return document.body.textContent")
        assert HOSTILE[:15] in text, text
        assert not b.run(
            "return document.querySelector('img, i, [onerror]') !== null")
        assert "bad" not in b.run("return document.title")
    scene.wait_for_flame()
    assert "<i>boot" in b.run("return document.body.textContent")
    library = b.run("return %s.calls[1].library" % FLAME)
    assert library == HOSTILE, library


def pages_fit_narrow_screens_in_light_and_dark(scene):
    b = scene.browser
    grounds = set()
    for dark in (False, True):
        for path, name in (("/", "overview"), (scene.link, "process")):
            scene.show(path, width=400, dark=dark)
            b.until("a canvas", "return document.querySelector('canvas')")
            if path != "/":
                scene.wait_for_flame()
            b.until("live memory on it", PAINTED.replace(
                "return n;", "return n > 100;"), "live")
            beyond = b.run("return document.documentElement.scrollWidth")
            assert beyond <= 400, (path, dark, beyond)
            grounds.add((dark, b.run(
                "return getComputedStyle(document.body).backgroundColor")))
            b.picture("%s-%s-narrow" % (name, "dark" if dark else "light"))
    assert len(grounds) == 2, grounds


def without_scripts_pages_say_what_they_know(scene):
    b = scene.browser
    scene.show(scene.link, scripts=False)
    assert not b.run("return document.querySelector('canvas') !== null")
    assert b.run("return document.querySelector('.plot polyline') !== null")
    assert b.run("return getComputedStyle(document.querySelector('#flame'))"
                 ".display") == "none"
    # who asked stands on the line of a site that is not unfolded
    lines = b.run("return [...document.querySelectorAll('#sites summary')]"
                  ".map(s => s.textContent)")
    assert [s for s in lines if s.startswith("19.1 MiB") and
            " leaky \u2039 " in s and "main" in s], lines
    assert not [s for s in lines if s.startswith("0 B")], lines
    b.picture("process-without-scripts")


def the_map_of_a_heap_is_a_picture(scene):
    b = scene.browser
    process = scene.world.sleeper()
    cells = ["1:%d:%d:%d:0:0" % ((1 << 20) + (i << 16), used, 65536 - used)
             for i, used in enumerate([65536, 0, 30000] * 100)]
    scene.world.stats_file("map", pid=process.pid, cell=cells)
    path = "/process?pid=%d" % process.pid
    fills = set()
    for scripts, dark in ((True, False), (False, True)):
        scene.show(path, width=400, dark=dark, scripts=scripts)
        lines = b.run(
            "return [...document.querySelectorAll('figure path')].map(p => ["
            "p.getAttribute('class'), getComputedStyle(p).fill,"
            "p.getBoundingClientRect().width, p.getBoundingClientRect()"
            ".height])")
        assert [line[0] for line in lines] == ["m0", "m5", "m10"], lines
        assert len({line[1] for line in lines}) == 3, lines
        fills.update(line[1] for line in lines)
        assert all(line[2] > 300 and 25 < line[3] < 31 for line in lines)
        assert b.run("return document.documentElement.scrollWidth") <= 400
        b.picture("map-%s" % ("dark" if dark else "light"))
    assert len(fills) == 6, fills
    # what is under the pointer has its addresses and figures
    tip = b.run(
        "const svg = document.querySelector('figure svg');"
        "svg.scrollIntoView();"
        "const r = svg.getBoundingClientRect();"
        "return document.elementFromPoint(r.x + 9, r.y + 15).textContent")
    assert tip.startswith("0x900000 to 0x1100000: 49.0 %"), tip


def what_grew_all_the_time_is_a_leak(scene):
    def is_a_leak():
        scene.grow()
        return b"<b>leak</b>: the memory in use grew by" in \
            scene.get(scene.link)
    kftest.until("a verdict by what was noted", is_a_leak)


def charts_work_in_a_browser(world):
    scene = Scene(world)
    for fact in (timelines_are_drawn_and_zoomed,
                 a_flame_graph_zooms_and_searches,
                 a_flame_graph_counts_blocks,
                 a_flame_graph_is_inverted_and_turned, names_stay_text,
                 pages_fit_narrow_screens_in_light_and_dark,
                 without_scripts_pages_say_what_they_know,
                 what_grew_all_the_time_is_a_leak, pages_are_live,
                 totals_have_rates,
                 the_map_of_a_heap_is_a_picture):
        scene.grow()
        fact(scene)
        complaints = scene.browser.complaints()
        assert not complaints, (fact.__name__, complaints)
        print("ok", fact.__name__, flush=True)


kftest.main(charts_work_in_a_browser)
