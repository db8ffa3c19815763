# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stats files that anybody has changed in any way harm no scrape, and no counter
falls; on an exporter with sanitizers, which check-asan builds, nothing is read
that is not there."""

import os
import random
import urllib.parse

import kftest

ROUNDS = 60
FILES = 6
NUMBERS = [0, 1, 255, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, 1 << 63,
           (1 << 64) - 1]


def mutated(chance, data):
    """The bytes, with some of them others, or without an end."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 2, 8, 64))):
        kind = chance.random()
        # the head says where all the rest is
        end = chance.choice((len(data), min(len(data), 512)))
        if not end:
            break
        at = chance.randrange(end)
        if kind < 0.5:
            size = chance.choice((2, 4, 8))
            at -= at % size
            data[at:at + size] = (chance.choice(NUMBERS) % (
                1 << 8 * size)).to_bytes(size, "little")
        elif kind < 0.95:
            data[at] = chance.randrange(256)
        else:
            del data[chance.randrange(len(data)):]
    return bytes(data)


def seeds(world):
    """Of a process that lives, of one that has ended, of one with tags."""
    sleeper = world.sleeper()
    values = dict(blocks=["16:5:2", "64:7:1"], mmaps=3, mapped=65536)
    files = [world.stats_file("a", pid=sleeper.pid, **values),
             world.stats_file("b", start=1, boot="another", **values),
             world.stats_file("c", pid=sleeper.pid, tag=["1:0:main", "2:1:t"],
                              **{"tag.2.mallocs": 4, "tag.2.allocated": 640})]
    found = []
    for path in files:
        with open(path, "rb") as f:
            found.append(f.read())
        os.remove(path)
    return found


def put(chance, world, data):
    """Another file of a name, or other bytes in the same one."""
    path = os.path.join(world.stats, str(chance.randrange(FILES)))
    if chance.random() < 0.5 and os.path.exists(path):
        os.remove(path)
    with open(path, "r+b" if os.path.exists(path) else "wb") as f:
        f.write(data)
        f.truncate()


def counters(page):
    return {key: value for key, value in page.samples.items()
            if page.types.get(key[0]) == "counter"}


def pages_are_served(exporter):
    for path in ("/", "/process?pid=1", "/metrics?collect[]=tags"):
        status = exporter.request(urllib.parse.quote(path, "/?=&"))[0]
        assert status in (200, 400, 404), (path, status)


def no_mutation_harms_a_scrape(world):
    chance = random.Random(41)
    found = seeds(world)
    exporter = world.exporter("--web.max-rate=0")
    before = {}
    for _ in range(ROUNDS):
        for _ in range(3):
            put(chance, world, mutated(chance, chance.choice(found)))
        now = counters(exporter.scrape())
        for key, value in before.items():
            assert now.get(key, value) >= value, (key, value, now[key])
        before = now
        pages_are_served(exporter)
    assert exporter.stop() == 0, exporter.log[-2000:]


kftest.main(no_mutation_harms_a_scrape)
