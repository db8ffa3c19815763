# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tags have is added up by name over threads and processes; a group has a
bounded number of series; what has ended, has nothing."""

import kftest

BYTES = "konfiscator_tag_live_bytes"
BLOCKS = "konfiscator_tag_live_blocks"


def values(page, name):
    return {dict(labels).get("tag"): v for (n, labels), v in
            page.samples.items() if n == name}


def names_are_added_up_over_threads_and_processes(world):
    one, two = world.sleeper(), world.sleeper()
    world.stats_file("a", pid=one.pid, tag=["1:0:main", "2:1:A", "3:2:B",
                                            "4:0:worker", "5:4:B"], **{
        "tag.2.allocated": 100, "tag.3.allocated": 70, "tag.3.freed": 20,
        "tag.3.mallocs": 5, "tag.3.frees": 2, "tag.5.allocated": 1000,
        "tag.5.mallocs": 1, "tag.5.remote_freed": 100})
    world.stats_file("b", pid=two.pid, tag=["1:0:main", "2:1:B"],
                     **{"tag.1.allocated": 3, "tag.2.allocated": 10000,
                        "tag.2.mallocs": 1})
    exporter = world.exporter()
    page = exporter.scrape()
    assert values(page, BYTES) == {"A": 100, "B": 10950, "main": 3}
    assert values(page, BLOCKS) == {"A": 0, "B": 5, "main": 0}
    assert page.get("konfiscator_tag_names") == 3
    world.end(two)
    assert values(exporter.scrape(), BYTES) == {"A": 100, "B": 950}


def what_is_beyond_the_limit_is_one_series(world):
    process = world.sleeper()
    tags = ["1:0:main", "2:1:other"]
    figures = {"tag.2.allocated": 5}
    for i in range(3, 160):
        tags.append("%d:1:t%d" % (i, i))
        figures["tag.%d.allocated" % i] = 1000 * i
    world.stats_file("a", pid=process.pid, tag=tags, **figures)
    page = world.exporter().scrape()
    found = values(page, BYTES)
    assert len(found) == 101, len(found)
    assert found["t159"] == 159000 and found["t60"] == 60000
    assert found["other"] == 5 + sum(1000 * i for i in range(3, 60))
    assert page.get("konfiscator_tag_names") == 158


def a_free_that_is_seen_first_does_not_count(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, tag=["1:0:main", "2:1:A"],
                     **{"tag.2.allocated": 100, "tag.2.freed": 116,
                        "tag.2.frees": 1})
    page = world.exporter().scrape()
    assert page.get(BYTES, tag="A") == 0
    assert page.get(BLOCKS, tag="A") == 0


def they_can_be_left_out(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, tag=["1:0:main", "2:1:A"])
    assert values(world.exporter().scrape(), BYTES) == {"A": 0}
    assert not values(world.exporter("--no-collector.tags").scrape(), BYTES)


kftest.main(
    names_are_added_up_over_threads_and_processes,
    what_is_beyond_the_limit_is_one_series,
    a_free_that_is_seen_first_does_not_count,
    they_can_be_left_out,
)
