# SPDX-License-Identifier: LGPL-2.1-or-later
"""Profiles in pprof's format, and other messages, read by protoc's own
decoder."""

import gzip
import json
import os
import subprocess

import kftest


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
        self.functions = {number(f, "id"): (text[number(f, "name")],
                                            text[number(f, "filename")])
                          for f in of(p, "function")}
        places = {number(l, "id"): l for l in of(p, "location")}
        maps = {number(m, "id"): m for m in of(p, "mapping")}
        self.samples = []
        self.lines = []  # of each sample: name, file and line of each call
        for s in of(p, "sample"):
            calls = []
            for place in [places[i] for i in of(s, "location_id")]:
                m = maps.get(number(place, "mapping_id"))
                # calls of Python have none
                assert not m or number(m, "memory_start") <= \
                    number(place, "address") < number(m, "memory_limit")
                calls += [(*self.functions[number(l, "function_id")],
                           number(l, "line")) for l in of(place, "line")]
            labels = {text[number(l, "key")]:
                      text[number(l, "str")] or number(l, "num")
                      for l in of(s, "label")}
            self.lines.append(calls)
            self.samples.append(([name for name, _, _ in calls],
                                 of(s, "value"), labels))
