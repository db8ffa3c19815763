# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""A scraped profile is read by protoc's own decoder, and has what the stats
files have: of one process and of all, with names where there are tables of
symbols, with build ids, and with labels that tell processes apart. A table of
symbols is read for one scrape and not for the next, unless its file is another.
"""

import os
import re
import shlex
import shutil
import subprocess
import time

import kfpprof
import kftest

HEAP = "/debug/pprof/heap"


def get(exporter, path):
    status, headers, body = exporter.request(path, Accept_Encoding="gzip")
    assert status == 200, (path, status, body)
    # the file is packed by itself: the client must not unpack it on the way
    assert "Content-Encoding" not in headers
    assert headers["Content-Type"] == "application/octet-stream"
    return kfpprof.Profile(body)


def a_process_has_its_samples(world):
    program = kftest.Stacks(world, "a", "leaky 20000000 0 64 boot",
                      "cache 90000000 60000000 4096", "lost 6000000 0 128")
    exporter = world.exporter()
    profile = get(exporter, HEAP + "?pid=%d" % program.process.pid)
    assert profile.types == ["alloc_objects", "alloc_space",
                             "inuse_objects", "inuse_space"], profile.types
    seen = {(c or [""])[0]: (c, v, l) for c, v, l in profile.samples}
    assert seen["cache"][1] == [21972, 90000000, 7324, 30000000], seen
    assert seen["leaky"][0][-1] == "_start" and "main" in seen["leaky"][0]
    assert seen["leaky"][2] == {
        "comm": "mkstacks", "pid": program.process.pid,
        "tid": program.process.pid, "tag": "boot"}, seen["leaky"]
    assert seen[""][1][3] == 6000000
    builds = [b for f, b in profile.builds.items() if f.endswith("mkstacks")]
    assert builds and all(re.fullmatch("[0-9a-f]{40}", b) for b in builds)
    assert profile.time_ns > 1500000000 * 10**9


def all_processes_are_told_apart(world):
    one = kftest.Stacks(world, "a", "leaky 1000000 0 64")
    two = kftest.Stacks(world, "b", "leaky 2000000 0 64")
    world.stats_file("c", pid=world.sleeper().pid, blocks="16:3:1")
    exporter = world.exporter()
    for path in (HEAP, "/debug/pprof/allocs"):
        live = {l["pid"]: v[3] for c, v, l in get(exporter, path).samples
                if c[0] == "leaky"}
        assert live == {one.process.pid: 1000000,
                        two.process.pid: 2000000}, live
    world.end(two.process)
    live = {l["pid"] for _, _, l in get(exporter, HEAP).samples}
    assert live == {one.process.pid}, live


def without_samples_a_profile_is_empty(world):
    assert not get(world.exporter(), HEAP).samples


def who_is_not_there_has_none(world):
    kftest.Stacks(world, "a", "leaky 1000000 0 64")
    exporter = world.exporter()
    for query in ("?pid=1", "?pid=x", "?pid=", "?id=0", "?id=123"):
        status, headers, _ = exporter.request(HEAP + query)
        assert status == 404, (query, status)
        assert headers["Content-Type"].startswith("text/plain"), query


def segments_may_share_a_page(world):
    """As lld lays them out: what maps the code maps the end of what is before
    it, too, and that was linked for other addresses."""
    kftest.need("ld.lld")
    binary = world.path("linked")
    fixture = os.path.join(kftest.SOURCE, "tests", "fixture")
    subprocess.run(
        [*shlex.split(os.environ["CC"]), "-std=gnu11", "-g", "-O1",
         "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
         "-fuse-ld=lld", "-o", binary,
         *(part for d in (os.environ["top_builddir"], kftest.SOURCE + "/src",
                          kftest.SOURCE) for part in ("-iquote", d)),
         os.path.join(fixture, "mkstacks.c"),
         os.path.join(fixture, "stats-file.c"), "-lm"], check=True)
    program = kftest.Stacks(world, "a", "cache 1000000 0 64", binary=binary)
    (calls, _, _), = get(world.exporter(), HEAP + "?pid=%d"
                         % program.process.pid).samples
    assert calls[0] == "cache" and "main" in calls, calls


def bytes_read(exporter):
    with open("/proc/%d/io" % exporter.process.pid, encoding="ascii") as f:
        return int(re.search(r"^rchar: (\d+)$", f.read(), re.M)[1])


def cost(exporter, path=HEAP):
    """What the exporter reads to answer."""
    before = bytes_read(exporter)
    assert exporter.request(path)[0] == 200
    return bytes_read(exporter) - before


def names(exporter):
    return {c for calls, _, _ in get(exporter, HEAP).samples for c in calls}


def tables_are_read_once(world):
    kftest.Stacks(world, "a", "leaky 1000000 0 64")
    exporter = world.exporter()
    exporter.scrape()
    first = cost(exporter)
    # the C library's table alone is larger
    kftest.until("names are kept", lambda: cost(exporter) < first - 30000)
    assert "leaky" in names(exporter)
    assert exporter.scrape().samples
    assert cost(exporter) < first - 30000


def other_names(world, binary):
    """What takes the place of the program: the same but for its names, with
    the same build id and times."""
    with open(binary, "rb") as f:
        code = f.read()
    there = os.stat(binary)
    assert b"\0leaky\0" in code
    other = world.path("other")
    with open(other, "wb") as f:
        f.write(code.replace(b"\0leaky\0", b"\0other\0"))
    shutil.copymode(binary, other)
    os.utime(other, ns=(there.st_atime_ns, there.st_mtime_ns))
    return other


def written_over(other, binary):
    there = os.stat(other)
    with open(other, "rb") as f, open(binary, "r+b") as to:
        to.write(f.read())
    os.utime(binary, ns=(there.st_atime_ns, there.st_mtime_ns))


def a_name_is_of_the_file_that_runs(world):
    exporter = world.exporter()
    programs = {}
    for way in (written_over, os.replace):
        binary = shutil.copy2(kftest.MKSTACKS, world.path(way.__name__))
        programs[binary] = way, kftest.Stacks(
            world, "1" + way.__name__, "leaky 1000000 0 64", binary=binary)
    # of younger files nothing is kept
    kftest.until("the files are of some age", lambda: all(
        time.time() - os.stat(b).st_ctime > 3.1 for b in programs))
    assert "leaky" in names(exporter)
    for binary, (way, program) in programs.items():
        other = other_names(world, binary)
        if way == os.replace:
            way(other, binary)
            assert "other" not in names(exporter)
        world.end(program.process)
        if way == written_over:
            way(other, binary)
        program = kftest.Stacks(world, "2" + way.__name__,
                                "other 1000000 0 64", binary=binary)
        seen = {c for calls, _, labels in get(exporter, HEAP).samples
                for c in calls if labels["pid"] == program.process.pid}
        assert "other" in seen and "leaky" not in seen, (way, seen)
        world.end(program.process)


kftest.main(
    a_process_has_its_samples,
    all_processes_are_told_apart,
    without_samples_a_profile_is_empty,
    who_is_not_there_has_none,
    segments_may_share_a_page,
    tables_are_read_once,
    a_name_is_of_the_file_that_runs,
)
