# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that another user puts into a directory of stats files, of any kind and
number, and changes all the time, take nothing from the figures of processes."""

import itertools
import os
import shutil
import struct
import subprocess

import kftest

PROCESSES = 100
SHARE = 2048  # files of a user in a directory that are read
ODD = 6000
LISTED = 131072  # names of a directory that are read
USER = 1000000000 + os.getpid()  # no other user of this machine has it

# struct kf_stats_header
AT_MORE = 176
MORE = struct.pack("<IIII", 192 << 20, 2048, 500000, 0)
MORE_SIZE = (192 << 20) + 2048 * 500000


def results(page):
    return {dict(labels)["result"]: v for (name, labels), v
            in page.samples.items() if name == "konfiscator_stats_files"}


class Crowd:
    """Processes with files of the library's, and one that is told its count."""

    def __init__(self, world):
        preload = world.path("lib.so")
        os.symlink(os.environ["KF_LIB"], preload)
        crowd = world.run(
            os.path.join(os.environ["top_builddir"], "bench/crowd"),
            str(PROCESSES), "1", stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=dict(
                os.environ, LD_PRELOAD=preload, KONFISCATOR_DIR=world.stats))
        assert crowd.stdout.readline() == b"ready\n"
        self.world = world
        self.pid = world.sleeper().pid
        self.path = world.path("stats", "told")
        self.made = world.path("stats", "made")
        self.count = 0
        world.stats_file("told", pid=self.pid, blocks="16:0:0", created=5)

    def grow(self):
        """As the process itself would write it."""
        self.count += 1
        self.world.stats_file("made", pid=self.pid,
                              blocks="16:%d:0" % self.count, created=5)
        with open(self.made, "rb") as f, open(self.path, "r+b") as told:
            told.write(f.read())
        os.unlink(self.made)

    def is_complete(self, page):
        assert page.get("konfiscator_processes",
                        process="crowd-0") == PROCESSES
        # and that of the crowd itself
        assert results(page)["ok"] >= PROCESSES + 2, results(page)
        assert page.get("konfiscator_malloc_total",
                        process="sleep") == self.count


def theirs(path):
    """Make a file another user's, if that is possible."""
    if os.geteuid() == 0:
        os.chown(path, USER, USER, follow_symlinks=False)


class Odd:
    """Files of all kinds, named by numbers."""

    def __init__(self, world, crowd):
        self.world = world
        with open(crowd.path, "rb") as f:
            self.good = f.read()
        self.kinds = (self.empty, self.text, self.cut, self.copy, self.huge,
                      os.mkfifo, os.mkdir, self.link, self.torn)
        self.number = itertools.count()
        self.made = []

    @staticmethod
    def write(path, data):
        with open(path, "wb") as f:
            f.write(data)

    def empty(self, path):
        self.write(path, b"")

    def text(self, path):
        self.write(path, b"no stats file at all\n" * 100)

    def cut(self, path):
        self.write(path, self.good[:len(self.good) // 2])

    def copy(self, path):
        """Of somebody else's process; but as root's it would be believed."""
        self.write(path, self.good if os.geteuid() == 0 else self.good[:40])

    def huge(self, path):
        self.write(path, self.good[:5000])
        os.truncate(path, 1 << 40)

    def link(self, path):
        os.symlink("told", path)

    def torn(self, path):
        """One that is being made, for ever."""
        self.write(path, self.good[:24] + bytes(1000))

    def make(self, nr):
        for kind in itertools.islice(itertools.cycle(self.kinds), nr):
            path = self.world.path("stats", "odd.%d" % next(self.number))
            kind(path)
            theirs(path)
            self.made.append(path)

    def change(self):
        """Half of them are others afterwards, the rest has grown."""
        half = len(self.made) // 2
        gone, self.made = self.made[:half], self.made[half:]
        for path in gone:
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
        for path in self.made[::len(self.kinds)]:
            with open(path, "ab") as f:
                f.write(b"grown")
        self.make(half)


def odd_files_take_the_place_of_none(world):
    crowd = Crowd(world)
    exporter = world.exporter("--web.max-requests=0", "--history.every=1h")
    crowd.is_complete(exporter.scrape())
    odd = Odd(world, crowd)
    odd.make(ODD)
    for _ in range(4):
        crowd.grow()
        page = exporter.scrape()
        crowd.is_complete(page)
        found = results(page)
        bad = sum(v for k, v in found.items() if k not in ("ok", "surplus"))
        assert 0 < bad <= SHARE, found
        assert found["surplus"] >= ODD - SHARE, found
        assert bad + found["surplus"] + found["ok"] >= ODD + PROCESSES, found
        odd.change()
    exporter.says("some files are not read")


def a_process_that_begins_among_them_is_seen(world):
    if os.geteuid() != 0:
        raise kftest.Skip("only root can make files of two users")
    crowd = Crowd(world)
    odd = Odd(world, crowd)
    odd.make(ODD)
    exporter = world.exporter("--web.max-requests=0", "--history.every=1h")
    crowd.is_complete(exporter.scrape())
    program = shutil.copy(shutil.which("sleep"), world.path("begins"))
    world.stats_file("new", pid=world.sleeper(program).pid, blocks="16:7:0")
    page = exporter.scrape()
    assert page.get("konfiscator_malloc_total", process="begins") == 7
    crowd.is_complete(page)


def files_that_take_long_come_last(world):
    crowd = Crowd(world)
    exporter = world.exporter("--web.max-requests=0", "--history.every=1h")
    crowd.is_complete(exporter.scrape())
    with open(crowd.path, "rb") as f:
        slow = bytearray(f.read())
    slow[AT_MORE:AT_MORE + len(MORE)] = MORE
    for i in range(200):
        path = world.path("stats", "slow.%d" % i)
        Odd.write(path, slow)
        os.truncate(path, MORE_SIZE)
        theirs(path)
    for _ in range(3):
        crowd.grow()
        page = exporter.scrape()
        assert page.get("konfiscator_malloc_total",
                        process="sleep") == crowd.count
        assert page.get("konfiscator_processes",
                        process="crowd-0") == PROCESSES
        assert results(page)["late"] > 0, results(page)


def processes_are_read_where_names_are_too_many(world):
    crowd = Crowd(world)
    exporter = world.exporter("--web.max-requests=0", "--history.every=1h")
    page = exporter.scrape()
    crowd.is_complete(page)
    assert page.get("konfiscator_exporter_full_directories") == 0
    # a file may have 65000 names
    for i in range(LISTED * 3 // 2):
        path = world.path("stats", "name.%d" % i)
        if i % 50000 == 0:
            first = path
            Odd.write(path, b"")
            theirs(path)
        else:
            os.link(first, path)
    for _ in range(2):
        crowd.grow()
        page = exporter.scrape()
        crowd.is_complete(page)
        assert page.get("konfiscator_exporter_full_directories") == 1
    exporter.says("some files are not read")


kftest.main(
    odd_files_take_the_place_of_none,
    a_process_that_begins_among_them_is_seen,
    files_that_take_long_come_last,
    processes_are_read_where_names_are_too_many,
)
