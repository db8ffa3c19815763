# SPDX-License-Identifier: LGPL-2.1-or-later
"""With a state file, counters go on over a restart of the exporter, however it
ended; what was folded is never folded twice."""

import json
import os
import shutil
import signal
import subprocess
import time

import kftest
from kfended import Counted

GO = "--stats.keep-ended=0"  # files of the ended go once they count


def mallocs(exporter, process="gone"):
    return exporter.scrape().get("konfiscator_malloc_total", process=process)


def totals_come_back(world):
    process = world.sleeper()
    world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    world.stats_file("b", pid=process.pid, blocks="32:5:0", created=1)
    first = world.exporter(state=world.state)
    before = first.scrape()
    assert first.stop() == 0
    second = world.exporter(state=world.state)
    after = second.scrape()
    for key, value in before.samples.items():
        if key[0].startswith("konfiscator_") and "process" in dict(key[1]):
            assert after.samples[key] >= value, (key, value)
    assert after.get("konfiscator_malloc_total", process="gone") == 6
    assert after.get("konfiscator_malloc_total", process="sleep") == 5
    # the living goes on from where it is, not from there twice
    world.stats_file("b", pid=process.pid, blocks="32:8:0", created=1)
    assert mallocs(second, "sleep") == 8


def killed_between_fold_and_delete_it_counts_once(world):
    path = world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    shutil.copy2(path, world.path("copy"))
    first = world.exporter(GO, state=world.state)
    assert mallocs(first) == 6
    first.stop(signal.SIGKILL)
    # state durable, file still there: what a crash in between leaves
    shutil.copy2(world.path("copy"), path)
    second = world.exporter(GO, state=world.state)
    page = second.scrape()
    assert page.get("konfiscator_malloc_total", process="gone") == 6
    assert page.get("konfiscator_process_exits_total", process="gone",
                    reason="exit") == 1
    assert not os.path.exists(path)


def place_of(path):
    st = os.stat(path)
    return st.st_ino, st.st_size


def what_changed_is_appended(world):
    process = world.sleeper()
    for i in range(50):
        world.stats_file("b%d" % i, pid=process.pid, blocks="32:5:0",
                         created=i + 1)
    first = world.exporter(state=world.state)
    first.scrape()
    inode, size = place_of(world.state)
    world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    assert mallocs(first) == 6
    assert place_of(world.state)[0] == inode
    assert size < place_of(world.state)[1] < size + 2048
    first.stop(signal.SIGKILL)
    second = world.exporter(state=world.state)
    assert mallocs(second) == 6
    assert second.scrape().get("konfiscator_malloc_total",
                               process="sleep") == 250


def a_line_that_was_cut_says_nothing(world):
    world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    first = world.exporter(GO, state=world.state)
    assert mallocs(first) == 6
    path = world.stats_file("b", start=1, comm="gone", blocks="16:7:1")
    shutil.copy2(path, world.path("copy"))
    assert mallocs(first) == 13
    first.stop(signal.SIGKILL)
    with open(world.state, "rb+") as f:
        f.truncate(place_of(world.state)[1] - 1)
    # it was not durable, so the file was still there
    shutil.copy2(world.path("copy"), path)
    for _ in range(2):
        second = world.exporter(GO, state=world.state)
        assert mallocs(second) == 13
        assert not os.path.exists(path)
        assert "damaged" not in second.log
        second.stop(signal.SIGKILL)


def what_was_appended_does_not_grow_for_ever(world):
    world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    shutil.copy2(world.path("stats", "a"), world.path("copy"))
    first = world.exporter(GO, state=world.state)
    assert mallocs(first) == 6
    inode, size = place_of(world.state)
    for i in range(200):
        shutil.copy2(world.path("copy"), world.path("stats", "b%d" % i))
    assert mallocs(first) == 6 * 201
    assert place_of(world.state)[0] == inode
    assert place_of(world.state)[1] > size + 65536
    shutil.copy2(world.path("copy"), world.path("stats", "c"))
    assert mallocs(first) == 6 * 202
    assert place_of(world.state)[0] != inode
    assert place_of(world.state)[1] < 4 * size
    first.stop(signal.SIGKILL)
    assert mallocs(world.exporter(GO, state=world.state)) == 6 * 202


def killed_before_the_state_is_durable_the_file_is_there(world):
    state = world.path("none", "state")
    os.mkdir(world.path("none"))
    first = world.exporter(GO, state=state)
    shutil.rmtree(world.path("none"))
    path = world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    page = first.scrape()
    assert page.get("konfiscator_malloc_total", process="gone") == 6
    assert page.get("konfiscator_exporter_state_errors_total") > 0
    assert os.path.exists(path)
    said = "state file cannot be written"
    kftest.until("the log says so", lambda: said in first.log)
    assert first.log.count(said) == 1
    os.mkdir(world.path("none"))
    assert mallocs(first) == 6
    assert not os.path.exists(path)
    first.stop(signal.SIGKILL)
    assert mallocs(world.exporter(GO, state=state)) == 6


def a_renamed_process_keeps_its_base(world):
    process = world.renamer(b"first")
    world.stats_file("a", pid=process.pid, blocks="16:10:0", created=1)
    first = world.exporter(state=world.state)
    assert mallocs(first, "first") == 10
    first.stop(signal.SIGKILL)
    world.rename(process, b"second")
    second = world.exporter(state=world.state)
    assert mallocs(second, "first") == 10
    assert mallocs(second, "second") == 0


def a_file_gone_during_the_stop_is_not_lost(world):
    process = world.sleeper()
    path = world.stats_file("a", pid=process.pid, blocks="16:10:0", created=1)
    first = world.exporter(state=world.state)
    assert mallocs(first, "sleep") == 10
    assert first.stop() == 0
    os.unlink(path)
    assert mallocs(world.exporter(state=world.state), "sleep") == 10


def an_older_state_goes_on(world):
    """Of before there were ledgers: members end with their base."""
    process = world.sleeper()
    living = world.stats_file("b", pid=process.pid, blocks="32:8:0", created=7)
    ended = world.stats_file("a", start=1, comm="gone", created=8,
                             blocks="16:6:1")
    exits = 'process_exits_total{reason="exit"}'

    def group(name, **total):
        return {"process": name, "container": "",
                "last_alive": int(time.time()), "total": total}

    def member(path, nr, name, ended, **base):
        return {"path": path, "created_ns": 7 + nr, "process": name,
                "container": "", "group": nr, "ended": ended, "base": base}
    with open(world.state, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "dropped": 3, "groups": [
            group("sleep", malloc_total=10),
            group("gone", malloc_total=20, **{exits: 4})], "members": [
                member(living, 0, "sleep", False, malloc_total=5),
                member(ended, 1, "gone", True, malloc_total=6,
                       **{exits: 1})]}, f)
        f.write("\n")
    for _ in range(2):
        exporter = world.exporter(state=world.state)
        page = exporter.scrape()
        assert page.get("konfiscator_malloc_total", process="sleep") == 13
        assert page.get("konfiscator_malloc_total", process="gone") == 20
        assert page.get("konfiscator_process_exits_total", process="gone",
                        reason="exit") == 4
        assert "damaged" not in exporter.log
        exporter.stop(signal.SIGKILL)
    world.stats_file("b", pid=process.pid, blocks="32:9:0", created=7)
    assert mallocs(world.exporter(state=world.state), "sleep") == 14


def like_before_ledgers(path):
    """Leave out of a state file what its older form does not have."""
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    with open(path, "w", encoding="utf-8") as f:
        for line in lines:
            line.pop("ledgers", None)
            for member in line["members"]:
                for key in ("folded", "ended_at", "uid", "pid", "keys"):
                    member.pop(key)
            f.write(json.dumps(line) + "\n")


def what_an_older_state_knows_is_not_counted_again(world):
    """Processes that it saw alive, and that a ledger has when it is read."""
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    processes = [counted.waiting() for _ in range(3)]
    counted.holds(exporter, 0)
    exporter.stop()
    counted.end(processes[0], well=True)
    counted.end(processes[1])
    counted.run()
    like_before_ledgers(world.state)
    exporter = world.exporter(state=world.state)
    counted.holds(exporter, 3)
    counted.end(processes[2], well=True)
    counted.holds(exporter, 4)
    exporter.stop(signal.SIGKILL)
    counted.holds(world.exporter(state=world.state), 4)


def a_damaged_state_is_put_aside_and_said_so(world):
    with open(world.state, "w") as f:
        f.write('{"version": 1, "groups": [{"process": 3')
    exporter = world.exporter(state=world.state)
    exporter.scrape()
    exporter.says("damaged")
    assert os.path.exists(world.state + ".damaged")


def two_exporters_do_not_share_a_state(world):
    world.exporter(state=world.state).scrape()
    second = subprocess.run(
        [kftest.EXPORTER, "--web.listen-address=127.0.0.1:0",
         "--stats.state-file=" + world.state],
        stderr=subprocess.PIPE, text=True, timeout=kftest.PATIENCE)
    assert second.returncode == 1
    assert "in use by another exporter" in second.stderr


def once_deletes_and_saves_nothing(world):
    path = world.stats_file("a", start=1, comm="gone", blocks="16:6:1")
    out = subprocess.run(
        [kftest.EXPORTER, "--once", "--stats.dir=" + world.stats,
         "--stats.state-file=" + world.state],
        stdout=subprocess.PIPE, check=True, text=True).stdout
    assert kftest.Page(out).get("konfiscator_malloc_total",
                                process="gone") == 6
    assert os.path.exists(path) and not os.path.exists(world.state)


kftest.main(
    totals_come_back,
    killed_between_fold_and_delete_it_counts_once,
    what_changed_is_appended,
    a_line_that_was_cut_says_nothing,
    what_was_appended_does_not_grow_for_ever,
    killed_before_the_state_is_durable_the_file_is_there,
    a_renamed_process_keeps_its_base,
    a_file_gone_during_the_stop_is_not_lost,
    an_older_state_goes_on,
    what_an_older_state_knows_is_not_counted_again,
    a_damaged_state_is_put_aside_and_said_so,
    two_exporters_do_not_share_a_state,
    once_deletes_and_saves_nothing,
)
