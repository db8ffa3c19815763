# SPDX-License-Identifier: LGPL-2.1-or-later
"""read_perfetto.py TRACE PROFILE: whether a perfetto trace holds the stacks of a
profile that was written as JSON, each with its names, lines and bytes.

Reads the wire format by itself: fields by the numbers that perfetto has."""

import collections
import json
import sys


def fields(data):
    """Each field's number with its value, an integer or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            at += size
            assert at <= len(data)
            yield key >> 3, data[at - size:at]
        else:
            raise ValueError("wire type %d" % (key & 7))


def message(data):
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def numbers(values):
    """Repeated integers, packed or not."""
    for value in values:
        if isinstance(value, int):
            yield value
            continue
        n = shift = 0
        for byte in value:
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                yield n
                n = shift = 0


def by_iid(values):
    return {m[1][0]: m for m in map(message, values)}


def text(table, iid):
    return table[iid][2][0].decode() if iid else None


with open(sys.argv[1], "rb") as f:
    trace = message(f.read())
assert len(trace[1]) == 1
packet = message(trace[1][0])
assert packet[10] and packet[13] == [1]
interned = message(packet[12][0])
functions, sources = by_iid(interned[5]), by_iid(interned[18])
frames, stacks = by_iid(interned[6]), by_iid(interned[7])
mappings, paths = by_iid(interned[19]), by_iid(interned[17])
processes = [message(p) for p in message(packet[37][0])[5]]
pids = {p[1][0] for p in processes}
traced = collections.Counter()
for sample in (message(s) for p in processes for s in p[2]):
    calls = []
    for iid in reversed(list(numbers(stacks[sample[1][0]][2]))):
        frame = frames[iid]
        path = [text(paths, n) for n in numbers(mappings[frame[3][0]][7])]
        calls.append((text(functions, (frame[2] or [0])[0]),
                      text(sources, (frame[5] or [0])[0]),
                      (frame[6] or [0])[0], path[-1]))
    traced[tuple(calls)] += sample[2][0] - sample[3][0]

wanted = collections.Counter()
with open(sys.argv[2], encoding="utf-8") as f:
    for site in json.load(f)["sites"]:
        assert int(site["process"].split("(")[-1][:-1]) in pids, site
        wanted[tuple(
            (None if "+0x" in frame["function"] or
             frame["function"].startswith("0x") else frame["function"],
             frame["file"], frame["line"], frame["library"])
            for frame in site["frames"])] += site["live"]
assert sum(wanted.values()) > 0
for calls in set(traced) | set(wanted):
    if abs(traced[calls] - wanted[calls]) > 1:
        sys.exit("%d bytes, not %d: %s" % (
            traced[calls], wanted[calls], calls))
print("%d stacks" % len(wanted))
