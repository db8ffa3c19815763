# SPDX-License-Identifier: LGPL-2.1-or-later
"""A stats file counts for a process only if root or a user of the process owns
it, and only as much as a process can count."""

import os

import kftest

USER = 1000000000 + os.getpid()  # no other user of this machine has it
OTHER = USER + 1000000000


def need_root():
    kftest.need("setpriv")
    if os.geteuid() != 0:
        raise kftest.Skip("only root can run this")


def of_user(world, file, owner=USER, **values):
    path = world.stats_file(file, **values, uid=owner)
    os.chown(path, owner, owner)
    return path


def sleeper_of(world, user):
    """A process of a user; its comm is sleep."""
    process = world.run("setpriv", "--reuid=%d" % user, "--regid=%d" % user,
                        "--clear-groups", "sleep", "1000")
    kftest.until("exec", lambda: open(
        "/proc/%d/comm" % process.pid).read() == "sleep\n")
    return process


def mallocs(page, process, default=None):
    return page.get("konfiscator_malloc_total", default, process=process)


def results(page, result):
    return page.get("konfiscator_stats_files", result=result)


def nobody_takes_the_place_of_a_living_process(world):
    need_root()
    process = world.sleeper()
    real = world.stats_file("a", pid=process.pid, blocks="16:10:0", created=5)
    exporter = world.exporter("--stats.keep-ended=0")
    assert mallocs(exporter.scrape(), "sleep") == 10
    # newer, older, by the same times, as another program and by another name
    forged = [of_user(world, name, pid=process.pid, blocks="16:1000:0", **how)
              for name, how in (("b", {"created": 9}), ("c", {"created": 1}),
                                ("d", {"created": 5}),
                                ("e", {"created": 9, "name": "sleep"}))]
    for _ in range(3):
        page = exporter.scrape()
        assert mallocs(page, "sleep") == 10
        assert page.get("konfiscator_processes", process="sleep") == 1
        assert results(page, "ok") == 1 and results(page, "conflict") == 4
        assert all(os.path.exists(p) for p in forged + [real])
    exporter.says("conflict")
    # what the real one counts is still seen
    world.stats_file("a", pid=process.pid, blocks="16:12:0", created=5)
    assert mallocs(exporter.scrape(), "sleep") == 12
    world.end(process)
    assert mallocs(exporter.scrape(), "sleep") >= 12
    assert not os.path.exists(real)


def a_forgery_alone_is_no_process(world):
    need_root()
    process = world.sleeper()
    path = of_user(world, "a", pid=process.pid, blocks="16:10:0")
    page = world.exporter().scrape()
    assert mallocs(page, "sleep", -1) == -1
    assert results(page, "conflict") == 1 and os.path.exists(path)


def the_users_of_a_process_own_its_file(world):
    need_root()
    process = sleeper_of(world, USER)
    of_user(world, "a", pid=process.pid, blocks="16:10:0", created=1)
    exporter = world.exporter("--stats.keep-ended=0")
    page = exporter.scrape()
    assert mallocs(page, "sleep") == 10 and results(page, "conflict") == 0
    # a program that root began, and that took another user's id since
    world.stats_file("b", pid=process.pid, blocks="16:20:0", created=2)
    page = exporter.scrape()
    assert mallocs(page, "sleep") == 30 and results(page, "conflict") == 0
    assert not os.path.exists(world.path("stats", "a"))
    # a third user has no part in it
    of_user(world, "c", OTHER, pid=process.pid, blocks="16:99:0", created=3)
    page = exporter.scrape()
    assert mallocs(page, "sleep") == 30 and results(page, "conflict") == 1


def who_started_a_set_uid_program_does_not_speak_for_it(world):
    need_root()
    process = world.run("setpriv", "--ruid=%d" % USER, "--euid=0",
                        "sleep", "1000")
    kftest.until("exec", lambda: open(
        "/proc/%d/comm" % process.pid).read() == "sleep\n")
    real = world.stats_file("a", pid=process.pid, blocks="16:10:0", created=1)
    of_user(world, "b", pid=process.pid, blocks="16:99:0", created=2)
    exporter = world.exporter()
    for _ in range(3):
        page = exporter.scrape()
        assert mallocs(page, "sleep") == 10
        assert results(page, "ok") == 1 and results(page, "conflict") == 1
        assert os.path.exists(real)


def an_ended_process_is_of_the_user_that_its_file_names(world):
    need_root()
    path = of_user(world, "a", start=1, comm="shop", blocks="16:10:0")
    lie = world.stats_file("b", start=1, comm="shop", uid=0, blocks="16:99:0")
    os.chown(lie, USER, USER)
    page = world.exporter("--stats.keep-ended=0").scrape()
    assert mallocs(page, "shop") == 10 and results(page, "conflict") == 1
    assert not os.path.exists(path) and os.path.exists(lie)


def what_no_process_can_count_is_refused(world):
    process = world.sleeper()
    huge = world.stats_file("a", start=1, comm="sleep", created=1,
                            blocks="16:4611686018427387904:0")
    world.stats_file("b", pid=process.pid, mmaps=4 << 60, created=1)
    world.stats_file("c", start=1, comm="sleep", created=1, boot="elsewhere",
                     large_allocated=(1 << 63) - 1)
    exporter = world.exporter()
    page = exporter.scrape()
    assert results(page, "ok") == 0 and results(page, "impossible") == 3
    assert mallocs(page, "sleep", 0) == 0
    assert os.path.exists(huge)
    exporter.says("impossible")
    # from one scrape to the next, too
    world.stats_file("b", pid=process.pid, mmaps=4, created=1)
    assert exporter.scrape().get("konfiscator_mmap_total",
                                 process="sleep") == 4
    world.stats_file("b", pid=process.pid, mmaps=1 << 55, created=1)
    page = exporter.scrape()
    assert page.get("konfiscator_mmap_total", process="sleep") == 4
    assert results(page, "impossible") == 3
    world.stats_file("b", pid=process.pid, mmaps=1 << 20, created=1)
    assert exporter.scrape().get("konfiscator_mmap_total",
                                 process="sleep") == 1 << 20


kftest.main(nobody_takes_the_place_of_a_living_process,
            a_forgery_alone_is_no_process,
            the_users_of_a_process_own_its_file,
            who_started_a_set_uid_program_does_not_speak_for_it,
            an_ended_process_is_of_the_user_that_its_file_names,
            what_no_process_can_count_is_refused)
