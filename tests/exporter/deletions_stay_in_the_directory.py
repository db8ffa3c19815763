# SPDX-License-Identifier: LGPL-2.1-or-later
"""The exporter, run by root, deletes nothing outside of the directories that it
read, whatever their owners put in the place of these."""

import os
import subprocess
import sys

import kftest

USER = 1000000000 + os.getpid()  # no other user of this machine has it
TRIES = 100
SWAP = os.path.join(kftest.SOURCE, "tests/hostile/swap.py")


def as_user():
    setpriv = kftest.need("setpriv")
    if os.geteuid() != 0:
        raise kftest.Skip("only root can run this")
    return [setpriv, "--reuid=%d" % USER, "--regid=%d" % USER,
            "--clear-groups"]


def vault(world):
    """A directory that root alone can read, with a file to be deleted."""
    os.chmod(world.dir, 0o755)
    os.mkdir(world.path("vault"), 0o700)
    file = world.path("vault", "x.1.1")
    os.rename(world.stats_file("x.1.1", start=1), file)
    return file


def home(world):
    path = world.path("home")
    os.mkdir(path)
    os.chown(path, USER, USER)
    return path


def a_link_in_the_place_of_a_directory_is_told_and_not_followed(world):
    prefix = as_user()
    file, place = vault(world), os.path.join(home(world), "stats")
    subprocess.run(prefix + ["ln", "-s", world.path("vault"), place],
                   check=True)
    exporter = world.exporter(stats=place)
    page = exporter.scrape()
    assert page.get("konfiscator_stats_files", result="ok") == 0
    assert page.get("konfiscator_stats_files", result="error") == 1
    exporter.says("Too many levels of symbolic links")
    assert os.path.exists(file)


def a_directory_that_is_swapped_for_a_link_loses_its_own_files_only(world):
    as_user()
    file, place = vault(world), home(world)
    os.mkdir(os.path.join(place, "stats"))
    os.chown(os.path.join(place, "stats"), USER, USER)
    os.symlink(world.path("vault"), os.path.join(place, "link"))
    os.lchown(os.path.join(place, "link"), USER, USER)
    dead = world.stats_file("dead", start=1, uid=USER)
    swapper = world.run(sys.executable, SWAP, place, dead, str(USER),
                        stdout=subprocess.PIPE)
    assert swapper.stdout.readline() == b"swapping\n"
    exporter = world.exporter("--stats.keep-ended=0",
                              stats=os.path.join(place, "stats"))
    ended = 0
    for _ in range(TRIES):
        ended = exporter.scrape().get("konfiscator_process_exits_total",
                                      ended, reason="exit")
        assert os.path.exists(file), "root's file was deleted"
    assert swapper.poll() is None
    assert ended > 0, "the user's own files never went"


kftest.main(a_link_in_the_place_of_a_directory_is_told_and_not_followed,
            a_directory_that_is_swapped_for_a_link_loses_its_own_files_only)
