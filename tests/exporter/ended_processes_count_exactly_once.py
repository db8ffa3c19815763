# SPDX-License-Identifier: LGPL-2.1-or-later
"""What processes counted that live and end between two scrapes is counted, and
each call once: by their files, by the ledger that these are added to, over
restarts of the exporter, and at whatever moment both are looked at."""

import os
import random
import shutil
import signal
import struct
import subprocess
import threading

import kftest
from kfended import BLOCKS, CLI, ENDED, Counted, ledgers_of

ROUNDS = 40


class Checked(threading.Thread):
    """A thread that tells whether all went well in it."""

    done = False

    def run(self):
        super().run()
        self.done = True


def short_lives_between_two_scrapes_count(world):
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    exporter.scrape()
    counted.run(nr=50)
    counted.holds(exporter, 50)
    counted.run(nr=1)
    counted.holds(exporter, 51)
    counted.holds(exporter, 51)


def one_that_begins_later_has_what_ended_before(world):
    counted = Counted(world)
    counted.run(nr=3)
    counted.end(counted.waiting())
    counted.holds(world.exporter(), 4)


def what_was_seen_alive_counts_once_when_it_ends_well(world):
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    processes = [counted.waiting() for _ in range(3)]
    counted.holds(exporter, 0)
    for nr, process in enumerate(processes):
        counted.end(process, well=True)
        counted.holds(exporter, nr + 1)
        counted.holds(exporter, nr + 1)


def a_killed_one_counts_once_and_its_file_stays(world):
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    for ends in range(1, 4):
        process = counted.waiting()
        counted.holds(exporter, ends - 1)
        file, = (f for f in world.stats_names()
                 if f.split(".")[1] == str(process.pid))
        counted.end(process)
        counted.holds(exporter, ends)
        counted.holds(exporter, ends)
        assert file in world.stats_names()
        # the black box is there for who asks what it held
        for command in (["events", "-a"], ["explain", "-a"], ["ls", "-a"]):
            text = subprocess.run(
                [CLI, "--dir", world.stats] + command + ["-p", str(process.pid)],
                stdout=subprocess.PIPE, check=True, text=True).stdout
            assert str(process.pid) in text, (command, text)


def killed_ones_count_once_whoever_adds_them_up(world):
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    for nr in range(1, 6):
        process = counted.waiting()
        counted.holds(exporter)
        counted.end(process)
        if nr % 2:
            counted.holds(exporter)
        # the next one adds the counters of the killed one to the ledger
        counted.run()
        counted.holds(exporter, 2 * nr)
    assert len(world.stats_names()) == 5


def restart(world, exporter, state, how):
    exporter.stop(how)
    return world.exporter(state=state)


def each_counts_once_at_any_moment(world, state):
    """Programs begin and end while the exporter scrapes, ends and begins."""
    counted = Counted(world)
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    print("seed %d" % seed)
    exporter = world.exporter(state=state)
    alive = []
    for _ in range(ROUNDS):
        for _ in range(chance.randrange(3)):
            alive.append(counted.waiting())
        if chance.random() < 0.5:
            exporter.scrape()
        running = subprocess.Popen([ENDED, str(BLOCKS), "exit"],
                                   env=counted.env)
        counted.begun += 1
        while alive and chance.random() < 0.6:
            counted.end(alive.pop(chance.randrange(len(alive))),
                        chance.random() < 0.5)
            if chance.random() < 0.3:
                exporter.scrape()
        if chance.random() < 0.2:
            exporter = restart(world, exporter, state, chance.choice(
                (signal.SIGTERM, signal.SIGKILL)))
        exporter.scrape()
        assert running.wait(kftest.PATIENCE) == 0
        counted.holds(exporter)
    while alive:
        counted.end(alive.pop())
    counted.holds(exporter, counted.begun)


def no_scrape_shows_too_much_or_less_than_before(world):
    """Scrapes one after the other, while programs begin, end and are killed."""
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    seen, over = [0], threading.Event()

    def scrape():
        while not over.is_set():
            value = exporter.scrape().get("konfiscator_malloc_total", 0,
                                          process="ended")
            # at most four run that are not among those yet
            most = (counted.begun + 4) * counted.each
            assert seen[-1] <= value <= most, (seen[-1], value, most)
            seen.append(value)
    thread = Checked(target=scrape)
    thread.start()
    try:
        for _ in range(ROUNDS):
            killed = [counted.waiting() for _ in range(2)]
            counted.run(nr=4)
            for process in killed:
                counted.end(process)
    finally:
        over.set()
        thread.join()
    assert thread.done
    counted.holds(exporter, counted.begun)


def each_counts_once_at_any_moment_with_a_state(world):
    each_counts_once_at_any_moment(world, world.state)


def each_counts_once_at_any_moment_without_a_state(world):
    each_counts_once_at_any_moment(world, None)


def more_end_than_a_ledger_lists(world):
    """Of one that was seen, and is no longer among the last folds."""
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    processes = [counted.waiting() for _ in range(3)]
    counted.holds(exporter)
    for process in processes:
        counted.end(process, well=True)
    exporter.stop(signal.SIGKILL)
    for _ in range(54):
        counted.run(nr=10)
    exporter = world.exporter(state=world.state)
    counted.holds(exporter)
    counted.holds(exporter, counted.begun)


def a_ledger_that_goes_takes_nothing_away(world):
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    counted.run(nr=3)
    counted.holds(exporter, 3)
    for nr in (4, 5):
        ledger, = ledgers_of(world)
        os.unlink(ledger)
        counted.holds(exporter, nr - 1)
        # the one that takes its place begins anew
        counted.run()
        counted.holds(exporter, nr)
        exporter = restart(world, exporter, world.state, signal.SIGKILL)
        counted.holds(exporter, nr)
    # seen after it was replaced, with more in it than the one before
    os.unlink(ledgers_of(world)[0])
    counted.run(nr=7)
    counted.holds(exporter, 12)


def what_is_no_ledger_is_told_and_not_used(world):
    counted = Counted(world)
    counted.run(nr=2)
    ledger, = ledgers_of(world)
    exporter = world.exporter()
    counted.holds(exporter, 2)
    for damage in ("link", "foreign", "rubbish"):
        shutil.copy2(ledger, world.path("copy"))
        os.unlink(ledger)
        if damage == "link":
            os.symlink(world.path("copy"), ledger)
        elif damage == "foreign":
            if os.geteuid() != 0:
                continue
            shutil.copy2(world.path("copy"), ledger)
            os.chown(ledger, 1000000000 + os.getpid(), -1)
        else:
            with open(world.path("copy"), "rb") as f:
                head = bytearray(f.read(65536))
            head[32:48] = b"\xff" * 16
            with open(ledger, "wb") as f:
                f.write(head)
        result = "damaged" if damage == "rubbish" else "foreign"
        page = exporter.scrape()
        assert page.get("konfiscator_stats_files", result=result) == 1, damage
        counted.holds(exporter, 2)
        exporter.says(".ledger.")
        if os.path.lexists(ledger):
            os.unlink(ledger)
        shutil.copy2(world.path("copy"), ledger)
        counted.holds(exporter, 2)


def counts_that_cannot_be_are_refused(world):
    """A ledger is its user's to write: no row may leap beyond a lifetime."""
    counted = Counted(world)
    counted.run(nr=2)
    ledger, = ledgers_of(world)
    exporter = world.exporter()
    counted.holds(exporter, 2)
    with open(ledger, "rb") as f:
        data = bytearray(f.read())
    # row 1: how many ended, and its values
    rows, size = struct.unpack_from("=2I", data, 112)
    row = rows + size
    assert data[row + 8:row + 14] == b"ended\0"
    struct.pack_into("=Q", data, row + 728, 9)
    struct.pack_into("=64Q", data, row + 760, *[1 << 62] * 64)
    # another number of folds, so that it is looked at
    struct.pack_into("=2Q", data, 192, 9, 9)
    with open(ledger, "r+b") as f:
        f.write(data)
    page = exporter.scrape()
    assert page.get("konfiscator_stats_files", result="impossible") == 1
    counted.holds(exporter, 2)


def rows_go_to_the_groups_of_their_names(world):
    counted = Counted(world)
    with open(world.path("config"), "w") as f:
        f.write("""process_names:
  - name: "{{.ExeBase}}-{{.Matches.What}}"
    exe: [ended]
    cmdline: ['(?P<What>exit|wait)$']
""")
    exporter = world.exporter("--config.file=" + world.path("config"))
    counted.run(nr=2)
    counted.end(counted.waiting())
    counted.end(counted.waiting(), well=True)
    page = exporter.scrape()
    for name in ("ended-exit", "ended-wait"):
        assert page.get("konfiscator_malloc_total",
                        process=name) == 2 * counted.each, name
    env = dict(counted.env, KONFISCATOR_NAME="shop")
    subprocess.run([ENDED, str(BLOCKS), "exit"], env=env, check=True)
    page = world.exporter().scrape()
    assert page.get("konfiscator_malloc_total",
                    process="shop") == counted.each
    assert page.get("konfiscator_malloc_total",
                    process="ended") == 4 * counted.each


def files_go_when_it_is_told_so(world):
    counted = Counted(world)
    exporter = world.exporter("--stats.keep-ended=0", state=world.state)
    for ends in range(1, 4):
        counted.end(counted.waiting())
        counted.holds(exporter, ends)
        assert not world.stats_names()
        counted.holds(exporter, ends)
        exporter.stop(signal.SIGKILL)
        exporter = world.exporter("--stats.keep-ended=0", state=world.state)


def prune(world, status=0):
    done = subprocess.run([CLI, "--dir", world.stats, "prune"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    assert done.returncode == status, done
    return done.stderr


def pruned_files_have_been_counted(world):
    """By an exporter that saw them, and by one that begins later."""
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    counted.end(counted.waiting())
    prune(world)
    assert not world.stats_names()
    counted.holds(exporter, 1)
    process = counted.waiting()
    counted.holds(exporter, 1)
    counted.end(process)
    counted.holds(exporter, 2)
    prune(world)
    prune(world)
    assert not world.stats_names()
    counted.holds(exporter, 2)
    counted.run()
    # the library adds to the same ledger
    assert len(ledgers_of(world)) == 1
    counted.holds(exporter, 3)
    counted.holds(world.exporter(), 3)


def prune_adds_no_file_that_was_added_before(world):
    counted = Counted(world)
    counted.end(counted.waiting())
    # the next one adds it, and leaves it
    counted.run()
    assert len(world.stats_names()) == 1
    prune(world)
    assert not world.stats_names()
    counted.holds(world.exporter(), 2)


def prune_leaves_what_cannot_be_added(world):
    counted = Counted(world)
    counted.run()
    counted.end(counted.waiting())
    ledger, = ledgers_of(world)
    os.rename(ledger, world.path("ledger"))
    os.symlink(world.path("ledger"), ledger)
    text = prune(world, status=1)
    assert text.count("\n") == 1 and "not deleted" in text, text
    assert len(world.stats_names()) == 1
    os.rename(world.path("ledger"), ledger)
    prune(world)
    counted.holds(world.exporter(), 2)


def prune_gives_a_user_his_ledger(world):
    if os.geteuid() != 0:
        return
    counted = Counted(world)
    counted.end(counted.waiting())
    user = 65534
    os.chmod(world.stats, 0o1777)
    file, = world.stats_names()
    os.unlink(ledgers_of(world)[0])
    with open(os.path.join(world.stats, file), "r+b") as f:
        # the user id, of the identity that the header tells of
        f.seek(32)
        identity, = struct.unpack("=I", f.read(4))
        f.seek(identity + 8)
        f.write(struct.pack("=I", user))
        os.fchown(f.fileno(), user, user)
    prune(world)
    assert not world.stats_names()
    ledger, = ledgers_of(world)
    assert ".ledger.%d." % user in ledger
    assert os.stat(ledger).st_uid == user
    counted.holds(world.exporter(), 1)


def prunes_and_scrapes_at_once_count_once(world):
    counted = Counted(world)
    exporter = world.exporter(state=world.state)
    over = threading.Event()

    def prune_on():
        while not over.is_set():
            prune(world)
    threads = [Checked(target=prune_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for nr in range(1, 11):
            counted.end(counted.waiting())
            counted.run()
            counted.holds(exporter)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert all(thread.done for thread in threads)
    prune(world)
    counted.holds(exporter, 20)
    counted.holds(world.exporter(), 20)


kftest.main(
    pruned_files_have_been_counted,
    prune_adds_no_file_that_was_added_before,
    prune_leaves_what_cannot_be_added,
    prune_gives_a_user_his_ledger,
    prunes_and_scrapes_at_once_count_once,
    short_lives_between_two_scrapes_count,
    one_that_begins_later_has_what_ended_before,
    what_was_seen_alive_counts_once_when_it_ends_well,
    a_killed_one_counts_once_and_its_file_stays,
    killed_ones_count_once_whoever_adds_them_up,
    no_scrape_shows_too_much_or_less_than_before,
    each_counts_once_at_any_moment_with_a_state,
    each_counts_once_at_any_moment_without_a_state,
    more_end_than_a_ledger_lists,
    a_ledger_that_goes_takes_nothing_away,
    what_is_no_ledger_is_told_and_not_used,
    counts_that_cannot_be_are_refused,
    rows_go_to_the_groups_of_their_names,
    files_go_when_it_is_told_so,
)
