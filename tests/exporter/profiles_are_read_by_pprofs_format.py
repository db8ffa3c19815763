# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scraped profile is read by protoc's own decoder, and has what the stats
files have: of one process and of all, with names where there are tables of
symbols, with build ids, and with labels that tell processes apart.
"""

import gzip
import json
import os
import re
import subprocess

import kftest

HEAP = "/debug/pprof/heap"
MKSTACKS = os.path.join(os.environ["top_builddir"], "tests/fixture/mkstacks")


def lines_of(text):
    """protoc's text as nested lists of keys and values."""
    stack = [[]]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
        elif line.endswith("{"):
            inner = []
            stack[-1].append((line[:-2], inner))
            stack.append(inner)
        else:
            key, value = line.split(": ", 1)
            stack[-1].append((key, value if value[0] == '"' else int(value)
                              if value.lstrip("-").isdigit() else value))
    return stack[0]


def of(message, key):
    return [v for k, v in message if k == key]


def number(message, key):
    return (of(message, key) or [0])[0]


class Profile:
    """What a profile says, by names."""

    def __init__(self, packed):
        p = lines_of(subprocess.run(
            [kftest.need("protoc"), "--decode=Profile", "--proto_path=" +
             os.path.join(kftest.SOURCE, "tests/fixture"), "published.proto"],
            input=gzip.decompress(packed), capture_output=True,
            check=True).stdout.decode())
        text = [json.loads(s) for s in of(p, "string_table")]
        assert text[0] == ""
        self.types = [text[number(t, "type")] for t in of(p, "sample_type")]
        self.builds = {text[number(m, "filename")]:
                       text[number(m, "build_id")] for m in of(p, "mapping")}
        self.time_ns = number(p, "time_nanos")
        names = {number(f, "id"): text[number(f, "name")]
                 for f in of(p, "function")}
        places = {number(l, "id"): l for l in of(p, "location")}
        maps = {number(m, "id"): m for m in of(p, "mapping")}
        self.samples = []
        for s in of(p, "sample"):
            calls = []
            for place in [places[i] for i in of(s, "location_id")]:
                m = maps[number(place, "mapping_id")]
                assert number(m, "memory_start") <= \
                    number(place, "address") < number(m, "memory_limit")
                calls += [names[number(l, "function_id")]
                          for l in of(place, "line")]
            labels = {text[number(l, "key")]:
                      text[number(l, "str")] or number(l, "num")
                      for l in of(s, "label")}
            self.samples.append((calls, of(s, "value"), labels))


class Program:
    """A process with a stats file, as it is told."""

    def __init__(self, world, file, *orders):
        self.process = world.run(MKSTACKS, world.path("stats", file),
                                 stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        for order in orders:
            self.tell(order)

    def tell(self, order):
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"ok\n", order


def get(exporter, path):
    status, headers, body = exporter.request(path, Accept_Encoding="gzip")
    assert status == 200, (path, status, body)
    # the file is packed by itself: the client must not unpack it on the way
    assert "Content-Encoding" not in headers
    assert headers["Content-Type"] == "application/octet-stream"
    return Profile(body)


def a_process_has_its_samples(world):
    program = Program(world, "a", "leaky 20000000 0 64 boot",
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
    one = Program(world, "a", "leaky 1000000 0 64")
    two = Program(world, "b", "leaky 2000000 0 64")
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
    Program(world, "a", "leaky 1000000 0 64")
    exporter = world.exporter()
    for query in ("?pid=1", "?pid=x", "?pid=", "?id=0", "?id=123"):
        status, headers, _ = exporter.request(HEAP + query)
        assert status == 404, (query, status)
        assert headers["Content-Type"].startswith("text/plain"), query


kftest.main(
    a_process_has_its_samples,
    all_processes_are_told_apart,
    without_samples_a_profile_is_empty,
    who_is_not_there_has_none,
)
