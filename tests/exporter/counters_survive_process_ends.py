# SPDX-License-Identifier: LGPL-2.1-or-later
"""No counter falls when processes end, exec, change their name or lose their
file; the files of the ended may go, the oldest first, and only those."""

import os
import signal
import time

import kftest

GO = "--stats.keep-ended=0"  # files of the ended go once they count


def mallocs(page, process, default=None):
    return page.get("konfiscator_malloc_total", default, process=process)


def an_ended_process_is_folded_with_its_last_counts(world):
    living, ending = world.sleeper(), world.sleeper()
    world.stats_file("a", pid=living.pid, blocks="16:7:2", mmaps=3)
    path = world.stats_file("b", pid=ending.pid, blocks="16:10:4", created=9)
    exporter = world.exporter(GO)
    page = exporter.scrape()
    assert mallocs(page, "sleep") == 17
    assert page.get("konfiscator_processes", process="sleep") == 2
    # what it counts between the last scrape and its end counts too
    world.stats_file("b", pid=ending.pid, blocks="16:23:4", created=9)
    world.end(ending)
    world.stats_file("b", pid=living.pid, start=1, blocks="16:23:4", created=9)
    for _ in range(3):
        page = exporter.scrape()
        assert mallocs(page, "sleep") == 30
        assert page.get("konfiscator_processes", process="sleep") == 1
        assert page.get("konfiscator_live_blocks", process="sleep") == 5
        assert page.get("konfiscator_process_exits_total", process="sleep",
                        reason="exit") == 1
        assert not os.path.exists(path)
    assert os.path.exists(os.path.join(world.stats, "a"))


def an_exec_is_an_end_of_its_own_kind(world):
    process = world.sleeper()
    path = world.stats_file("a", pid=process.pid, exe="/bin/gone",
                            comm="before", blocks="16:4:0")
    page = world.exporter(GO).scrape()
    assert mallocs(page, "before") == 4
    assert page.get("konfiscator_process_exits_total", process="before",
                    reason="exec") == 1
    assert page.get("konfiscator_process_exits_total", process="before",
                    reason="exit") == 0
    assert not os.path.exists(path)


def files_of_the_ended_stay_and_count_once(world):
    process = world.sleeper()
    files = [world.stats_file("a", start=1, comm="gone", blocks="16:6:1"),
             world.stats_file("b", pid=process.pid, exe="/bin/gone",
                              comm="before", blocks="16:4:0")]
    for _ in range(2):
        exporter = world.exporter(state=world.state)
        for _ in range(2):
            page = exporter.scrape()
            assert mallocs(page, "gone") == 6
            assert mallocs(page, "before") == 4
            assert page.get("konfiscator_process_exits_total", process="gone",
                            reason="exit") == 1
        exporter.stop(signal.SIGKILL)
    assert all(os.path.exists(p) for p in files)


def of_too_many_files_the_oldest_go(world):
    exporter = world.exporter(state=world.state)
    first = [world.stats_file("a%d" % i, start=1, comm="gone", created=i + 1,
                              blocks="16:1:1") for i in range(250)]
    assert mallocs(exporter.scrape(), "gone") == 250
    assert all(os.path.exists(p) for p in first)
    time.sleep(1.1)  # the times of ends are in seconds
    second = [world.stats_file("b%d" % i, start=1, comm="gone", created=i + 1,
                               blocks="16:1:1") for i in range(10)]
    # nobody has counted these before, and each user has a number of his own
    if os.geteuid() == 0:
        other = world.stats_file("c", start=1, comm="gone", uid=65534,
                                 blocks="16:1:1")
        os.chown(other, 65534, 65534)
        second.append(other)
    assert mallocs(exporter.scrape(), "gone") == 250 + len(second)
    assert all(os.path.exists(p) for p in first[4:] + second)
    assert not any(os.path.exists(p) for p in first[:4])
    assert mallocs(exporter.scrape(), "gone") == 250 + len(second)


def files_go_when_their_time_is_over(world):
    file = world.stats_file("a", start=1, comm="gone", blocks="16:1:1")
    exporter = world.exporter("--stats.keep-ended=2s")
    assert mallocs(exporter.scrape(), "gone") == 1
    assert os.path.exists(file)
    kftest.until("its end", lambda: exporter.scrape() and
                 not os.path.exists(file))
    assert mallocs(exporter.scrape(), "gone") == 1


def of_two_files_of_one_process_the_newer_is_alive(world):
    process = world.sleeper()
    older = world.stats_file("a", pid=process.pid, blocks="16:4:0", created=1)
    newer = world.stats_file("b", pid=process.pid, blocks="16:5:0", created=2)
    page = world.exporter(GO).scrape()
    assert mallocs(page, "sleep") == 9
    assert page.get("konfiscator_processes", process="sleep") == 1
    assert os.path.exists(newer) and not os.path.exists(older)


def a_change_of_name_leaves_the_counts_where_they_were(world):
    process = world.renamer(b"first")
    world.stats_file("a", pid=process.pid, blocks="16:10:0", created=1)
    exporter = world.exporter()
    assert mallocs(exporter.scrape(), "first") == 10
    world.rename(process, b"second")
    page = exporter.scrape()
    assert mallocs(page, "first") == 10 and mallocs(page, "second") == 0
    world.stats_file("a", pid=process.pid, blocks="16:13:0", created=1)
    page = exporter.scrape()
    assert mallocs(page, "first") == 10 and mallocs(page, "second") == 3
    assert page.get("konfiscator_processes", process="first") == 0
    assert page.get("konfiscator_processes", process="second") == 1


def a_given_name_stands_before_the_comm(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, name="shop", blocks="16:1:0")
    assert mallocs(world.exporter().scrape(), "shop") == 1


def a_file_that_was_removed_leaves_its_counts(world):
    process = world.sleeper()
    path = world.stats_file("a", pid=process.pid, blocks="16:10:0", created=1)
    exporter = world.exporter()
    assert mallocs(exporter.scrape(), "sleep") == 10
    os.rename(path, world.path("kept"))
    assert mallocs(exporter.scrape(), "sleep") == 10
    # and is not counted twice when it is there again
    os.rename(world.path("kept"), path)
    assert mallocs(exporter.scrape(), "sleep") == 10


def somebody_else(world):
    """How to run the exporter without root's sight and powers."""
    if os.geteuid() != 0:
        return ()
    os.chmod(world.dir, 0o755)
    return (kftest.need("setpriv"), "--reuid=65534", "--regid=65534",
            "--clear-groups")


def whoever_may_live_elsewhere_is_never_deleted(world):
    process = world.sleeper()
    prefix = somebody_else(world)
    os.chmod(world.stats, 0o777)
    files = [world.stats_file("boot", pid=process.pid, boot="elsewhere",
                              comm="boot", blocks="16:1:0"),
             world.stats_file("ns", pid=process.pid, ns=1, comm="ns",
                              blocks="16:2:0")]
    dead = world.stats_file("dead", start=1, comm="dead", blocks="16:3:0")
    exporter = world.exporter(GO, prefix=prefix)
    for _ in range(2):
        page = exporter.scrape()
        assert mallocs(page, "boot") == 1 and mallocs(page, "ns") == 2
        assert page.get("konfiscator_processes", process="ns") == 1
        assert all(os.path.exists(p) for p in files)
        assert not os.path.exists(dead)


def a_file_that_cannot_be_deleted_is_counted_once(world):
    prefix = somebody_else(world)
    path = world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    os.chmod(world.stats, 0o555)
    exporter = world.exporter(GO, prefix=prefix)
    for _ in range(3):
        page = exporter.scrape()
        assert mallocs(page, "gone") == 6
        assert page.get("konfiscator_process_exits_total", process="gone",
                        reason="exit") == 1
    assert os.path.exists(path)
    exporter.says("cannot delete")
    assert exporter.log.count("cannot delete") == 1


def a_counter_that_seems_to_fall_stands_still(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, blocks="16:10:0", created=1,
                     calloc_calls=2)
    exporter = world.exporter()
    first = exporter.scrape()
    world.stats_file("a", pid=process.pid, blocks="16:10:0", created=1,
                     calloc_calls=5)
    second = exporter.scrape()
    for call, wanted in (("malloc", 8), ("calloc", 5)):
        value = second.get("konfiscator_calls_total", call=call)
        assert value == wanted, (call, value)
    assert first.get("konfiscator_calls_total", call="malloc") == 8


def a_directory_that_goes_is_told_and_its_counts_come_back(world):
    process = world.sleeper()
    world.stats_file("f", pid=process.pid, blocks="16:7:2")
    exporter = world.exporter(state=world.state)
    away = world.path("away")

    def seen():
        page = exporter.scrape()
        return (page.get("konfiscator_malloc_total"),
                page.get("konfiscator_processes"),
                page.get("konfiscator_stats_files", result="error"))
    assert seen() == (7, 1, 0)
    for _ in range(2):
        os.rename(world.stats, away)
        assert seen() == seen() == (7, 0, 1)
        assert world.stats.encode() + b"</code> is not shown: it cannot" in \
            exporter.request("/")[2]
        os.rename(away, world.stats)
        assert seen() == (7, 1, 0)
    exporter.says("No such file or directory")
    assert exporter.stop() == 0
    assert exporter.log.count(world.stats + " ") == 2, exporter.log


kftest.main(
    an_ended_process_is_folded_with_its_last_counts,
    an_exec_is_an_end_of_its_own_kind,
    files_of_the_ended_stay_and_count_once,
    of_too_many_files_the_oldest_go,
    files_go_when_their_time_is_over,
    of_two_files_of_one_process_the_newer_is_alive,
    a_change_of_name_leaves_the_counts_where_they_were,
    a_given_name_stands_before_the_comm,
    a_file_that_was_removed_leaves_its_counts,
    whoever_may_live_elsewhere_is_never_deleted,
    a_file_that_cannot_be_deleted_is_counted_once,
    a_counter_that_seems_to_fall_stands_still,
    a_directory_that_goes_is_told_and_its_counts_come_back,
)
