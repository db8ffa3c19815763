# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""A group's counters were 0 at its created time, which is before the request
that shows the group first, and never changes: not by a restart of the exporter
either. A group that comes back after it was forgotten has a later one."""

import json
import signal
import time

import kfmetrics
import kftest

QUIET = ["--no-collector.resident", "--no-collector.cgroup"]
CALLS = "konfiscator_malloc_total"


def now():
    return time.time_ns()


def look(exporter, name, metric=CALLS):
    """A group's calls and its created time."""
    page = kfmetrics.scrape(exporter)
    key = metric, frozenset([("process", name)])
    return page.samples.get(key), page.created.get(key)


def it_is_when_the_first_process_began(world):
    world.stats_file("a", pid=world.sleeper().pid, name="old", blocks="16:6:1",
                     created=1700000000000000001)
    world.stats_file("b", pid=world.sleeper().pid, name="old", blocks="16:6:1",
                     created=1600000000000000002)
    world.stats_file("c", pid=world.sleeper().pid, name="ahead",
                     blocks="16:6:1", created=now() + 10 ** 15)
    exporter = world.exporter(*QUIET)
    assert look(exporter, "old") == (12, 1600000000000000002)
    # no time is later than the exporter's own start
    assert 0 < look(exporter, "ahead")[1] < now() - 10 ** 6
    # an older one that comes later does not change what was said
    world.stats_file("d", pid=world.sleeper().pid, name="old", blocks="16:6:1",
                     created=1500000000000000003)
    assert look(exporter, "old") == (18, 1600000000000000002)


def it_is_before_the_request_that_shows_the_group(world):
    """Even if another one has just caused a scan."""
    exporter = world.exporter(*QUIET)
    time.sleep(1.1)
    exporter.scrape()
    asked = now()
    exporter.scrape()
    world.stats_file("a", pid=world.sleeper().pid, name="new", blocks="16:6:1",
                     created=now())
    calls, created = look(exporter, "new")
    assert calls == 6 and created < asked, (created, asked)


def it_is_kept_over_restarts(world):
    exporter = world.exporter(*QUIET, state=world.state)
    exporter.scrape()
    world.stats_file("a", start=1, name="gone", blocks="16:6:1", created=now())
    world.stats_file("b", pid=world.sleeper().pid, name="here",
                     blocks="16:5:1", created=now())
    said = {name: look(exporter, name) for name in ("gone", "here")}
    for sig in (signal.SIGTERM, signal.SIGKILL):
        exporter.stop(sig)
        exporter = world.exporter(*QUIET, state=world.state)
        for name, (calls, created) in said.items():
            assert created and look(exporter, name) == (calls, created), name


def an_older_state_has_none(world):
    """Nothing is said of its groups; new ones have a time."""
    with open(world.state, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "dropped": 0, "members": [], "groups": [
            {"process": "gone", "container": "", "last_alive": int(time.time()),
             "total": {"malloc_total": 7}}]}, f)
        f.write("\n")
    exporter = world.exporter(*QUIET, state=world.state)
    assert look(exporter, "gone") == (7, None)
    world.stats_file("a", start=1, name="new", blocks="16:6:1", created=now())
    calls, created = look(exporter, "new")
    assert calls == 6 and created
    exporter.stop()
    exporter = world.exporter(*QUIET, state=world.state)
    assert look(exporter, "gone") == (7, None)
    assert look(exporter, "new") == (6, created)


def a_forgotten_group_comes_back_with_a_later_one(world):
    exporter = world.exporter("--groups.forget-after=1s",
                              "--stats.keep-ended=0", *QUIET)
    samples = []

    def ask():
        asked = now()
        samples.append((asked, *look(exporter, "again")))
        return samples[-1][1]
    for times in range(3):
        world.stats_file("f%d" % times, start=1, name="again",
                         blocks="16:%d:1" % (times + 6), created=now())
        assert ask() == times + 6, samples
        kftest.until("forgotten", lambda: ask() is None)
    lives = {created for _, _, created in samples if created}
    assert len(lives) == 3, samples
    # each is later than the last sample before, so that a zero fits in there
    last = None
    for asked, calls, created in samples:
        if calls is None:
            continue
        assert created < asked
        assert last is None or last[1] == created or created > last[0], samples
        last = asked, created


def a_name_taken_later_begins_there(world):
    """What a process counted under its name before is not of the new one."""
    process = world.renamer(b"first")
    with open("/proc/%d/stat" % process.pid, "rb") as f:
        start = f.read().rsplit(b")", 1)[1].split()[19].decode()
    begun = 1700000000000000001

    def count(calls):
        world.stats_file("a", pid=process.pid, start=start, created=begun,
                         blocks="16:%d:0" % calls)
    count(10)
    exporter = world.exporter(*QUIET)
    assert look(exporter, "first") == (10, begun)
    before = now()
    world.rename(process, b"second")
    assert look(exporter, "second")[0] == 0
    count(15)
    calls, created = look(exporter, "second")
    assert calls == 5
    assert before - 2 * 10 ** 9 < created < now()


def a_counter_of_another_version_has_its_own(world):
    """Its zero is when no file had it, not when the group began."""
    world.stats_file("a", pid=world.sleeper().pid, name="some",
                     blocks="16:1:0", created=1700000000000000001)
    exporter = world.exporter(*QUIET)
    exporter.scrape()
    begun = now()
    exporter.scrape()
    world.stats_file("b", pid=world.sleeper().pid, name="some",
                     metric="splits:novel_total", splits=9, created=now())
    calls, created = look(exporter, "some", "konfiscator_novel_total")
    assert calls == 9 and begun - 2 * 10 ** 9 < created < now()
    assert look(exporter, "some")[1] == 1700000000000000001


kftest.main(
    it_is_when_the_first_process_began,
    it_is_before_the_request_that_shows_the_group,
    it_is_kept_over_restarts,
    an_older_state_has_none,
    a_forgotten_group_comes_back_with_a_later_one,
    a_name_taken_later_begins_there,
    a_counter_of_another_version_has_its_own,
)
