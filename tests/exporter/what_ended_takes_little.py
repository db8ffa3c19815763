# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of ended processes take a bounded part of a file system, and ledgers
and files are read no more often than they have to be."""

import contextlib
import ctypes
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import kftest
from kfended import Counted, ledgers_of

LEDGERS = 8  # of a user in a directory
IN_ACCESS, IN_OPEN = 1, 0x20
libc = ctypes.CDLL(None, use_errno=True)


class Reads:
    """The files of a directory that anybody opens or reads, by inotify."""

    def __init__(self, path):
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0
        assert libc.inotify_add_watch(self.fd, os.fsencode(path),
                                      IN_ACCESS | IN_OPEN) >= 0

    def names(self):
        """Those since it was last asked."""
        names = set()
        with contextlib.suppress(BlockingIOError):
            while True:
                data = os.read(self.fd, 65536)
                while data:
                    *_, size = struct.unpack_from("=iIII", data)
                    names.add(data[16:16 + size].rstrip(b"\0").decode())
                    data = data[16 + size:]
        return names - {""}


def impossible(page):
    return page.get("konfiscator_stats_files", result="impossible")


def copies(ledger, first, nr):
    """Further ledgers of the same user: the last part of a name is a hash."""
    digits = len(ledger.rsplit(".", 1)[1])
    made = ["%s.%0*x" % (ledger.rsplit(".", 1)[0], digits, first + i)
            for i in range(nr)]
    for path in made:
        shutil.copy2(ledger, path)
    return made


def eight_ledgers_of_a_user_are_read(world):
    counted = Counted(world)
    counted.run()
    ledger, = ledgers_of(world)
    exporter = world.exporter(state=world.state)
    counted.holds(exporter, 1)
    made = copies(ledger, 1, 20)
    reads = Reads(world.stats)
    counted.begun = LEDGERS
    for _ in range(2):
        page = exporter.scrape()
        read = {n for n in reads.names() if n.startswith(".ledger.")}
        assert len(read) == LEDGERS, read
        assert os.path.basename(ledger) in read
        assert impossible(page) == 20 - (LEDGERS - 1)
        counted.holds(exporter, LEDGERS)
        reads.names()
    # others in the place of those that went are too many as well
    for path in made:
        os.unlink(path)
    copies(ledger, 100, 20)
    reads.names()
    assert impossible(exporter.scrape()) == 20
    assert ({n for n in reads.names() if n.startswith(".ledger.")} ==
            {os.path.basename(ledger)})
    counted.holds(exporter, LEDGERS)
    exporter.stop(signal.SIGKILL)
    counted.holds(world.exporter(state=world.state), LEDGERS)


def damaged_ledgers_are_among_the_eight(world):
    counted = Counted(world)
    counted.run()
    ledger, = ledgers_of(world)
    exporter = world.exporter()
    counted.holds(exporter, 1)
    for path in copies(ledger, 1, 20):
        with open(path, "r+b") as f:
            f.seek(32)
            f.write(b"\xff" * 16)
    reads = Reads(world.stats)
    page = exporter.scrape()
    read = {n for n in reads.names() if n.startswith(".ledger.")}
    assert len(read) == LEDGERS, read
    assert page.get("konfiscator_stats_files",
                    result="damaged") == LEDGERS - 1
    assert impossible(page) == 20 - (LEDGERS - 1)
    counted.holds(exporter, 1)


def a_user_takes_no_ledger_from_another(world):
    """What has another's user id in its name is none of his."""
    if os.geteuid() != 0:
        raise kftest.Skip("files of others need root")
    counted = Counted(world)
    counted.run()
    ledger, = ledgers_of(world)
    for path in copies(ledger, 1, 20):
        os.chown(path, 65534, 65534)
    page = world.exporter().scrape()
    assert page.get("konfiscator_stats_files", result="foreign") == 20
    assert impossible(page) == 0
    counted.holds(world.exporter(), 1)


def a_file_that_was_added_is_not_read_again(world):
    counted = Counted(world)
    exporter = world.exporter()
    counted.end(counted.waiting())
    counted.run()
    file, = world.stats_names()
    reads = Reads(world.stats)
    counted.holds(exporter, 2)
    assert file in reads.names()
    # its times are as coarse as those of any file system
    kftest.until("a scrape that leaves the file alone",
                 lambda: exporter.scrape() and file not in reads.names())
    for _ in range(3):
        counted.holds(exporter, 2)
    assert file not in reads.names()
    assert file in world.stats_names()
    # it may be another one
    os.utime(os.path.join(world.stats, file))
    counted.holds(exporter, 2)
    assert file in reads.names()


@contextlib.contextmanager
def small(world, size):
    """A file system for the stats files."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777,size=" + size,
                    "tmpfs", world.stats], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", world.stats], check=True)


def ended_file(world, name):
    """Where it takes the place of nothing: mkstats writes elsewhere first."""
    path = world.stats_file("../made." + name, start=1, comm="gone",
                            blocks="16:1:1", created=int(name) + 1)
    shutil.copy(path, os.path.join(world.stats, name))
    return os.path.join(world.stats, name)


def names_of(nr):
    return ["%d" % i for i in range(nr)]


def files_take_a_hundredth_of_the_file_system(world):
    with small(world, "32m"):
        exporter = world.exporter()
        size = os.stat(ended_file(world, "0")).st_blocks * 512
        most = 32 * 1024 * 1024 // 100 // size
        assert 2 <= most < 200, size
        for name in names_of(most):
            ended_file(world, name)
        exporter.scrape()
        assert sorted(world.stats_names()) == sorted(names_of(most))
        time.sleep(1.1)  # the times of ends are in seconds
        for i in range(most, most + 3):
            ended_file(world, str(i))
        page = exporter.scrape()
        assert sorted(world.stats_names()) == sorted(names_of(most + 3)[3:])
        assert page.get("konfiscator_malloc_total",
                        process="gone") == most + 3
        exporter.stop()


def files_go_where_less_than_a_tenth_is_free(world):
    with small(world, "32m"):
        exporter = world.exporter()
        for i in range(3):
            ended_file(world, str(i))
        exporter.scrape()
        assert len(world.stats_names()) == 3
        # elsewhere than in the directory, in the same file system
        os.mkdir(os.path.join(world.stats, "beside"))
        with open(os.path.join(world.stats, "beside", "full"), "wb") as f:
            os.posix_fallocate(f.fileno(), 0, 29 * 1024 * 1024)
        page = exporter.scrape()
        assert world.stats_names() == ["beside"]
        assert page.get("konfiscator_malloc_total", process="gone") == 3
        exporter.stop()


BOUNDS = (files_take_a_hundredth_of_the_file_system,
          files_go_where_less_than_a_tenth_is_free)


def bounds_hold_in_file_systems_of_their_own(_):
    """The same script again, in a mount namespace."""
    kftest.need("unshare")
    if os.geteuid() != 0 or subprocess.run(
            ["unshare", "-m", "true"], check=False,
            stderr=subprocess.DEVNULL).returncode:
        raise kftest.Skip("mounts of its own are not permitted (unshare -m)")
    subprocess.run(["unshare", "-m", sys.executable, __file__],
                   env=dict(os.environ, KF_PRIVATE_MOUNTS="1"), check=True)


if os.environ.get("KF_PRIVATE_MOUNTS"):
    kftest.main(*BOUNDS)
else:
    kftest.main(
        eight_ledgers_of_a_user_are_read,
        damaged_ledgers_are_among_the_eight,
        a_user_takes_no_ledger_from_another,
        a_file_that_was_added_is_not_read_again,
        bounds_hold_in_file_systems_of_their_own,
    )
