# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that end under the library, for tests of what becomes of their
counts and files."""

import os
import re
import subprocess

import kfprom
import kftest

ENDED = os.path.join(os.environ["top_builddir"], "tests/hostile/ended")
CLI = os.environ["KF_CLI"]
BLOCKS = 100


class Counted:
    """Programs under the library, and what all of them have counted."""

    def __init__(self, world):
        self.world = world
        self.env = kfprom.under_library(world)
        self.env.pop("KONFISCATOR_KEEP", None)
        os.mkdir(world.path("first"))
        env = dict(self.env, KONFISCATOR_KEEP="1",
                   KONFISCATOR_DIR=world.path("first"))
        subprocess.run([ENDED, str(BLOCKS), "exit"], env=env, check=True)
        # of one run, before main and in it, by its own file
        text = subprocess.run([CLI, "--dir", world.path("first"),
                               "--format=json", "stat", "-a"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.each = int(re.search(r'"mallocs": (\d+)', text)[1])
        assert self.each >= BLOCKS
        self.begun = 0

    def run(self, how="exit", nr=1):
        """Programs that end by themselves."""
        started = [subprocess.Popen([ENDED, str(BLOCKS), how], env=self.env,
                                    stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL)
                   for _ in range(nr)]
        for process in started:
            assert process.wait(kftest.PATIENCE) == 0
        self.begun += nr

    def waiting(self):
        """One that has counted all that it will, and waits."""
        process = self.world.run(ENDED, str(BLOCKS), "wait", env=self.env,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        self.begun += 1
        return process

    def end(self, process, well=False):
        if well:
            process.stdin.close()
            assert process.wait(kftest.PATIENCE) == 0
        else:
            self.world.end(process)

    def holds(self, exporter, ends=None):
        page = exporter.scrape()
        mallocs = page.get("konfiscator_malloc_total", process="ended")
        wanted = self.begun * self.each
        assert mallocs == wanted, "%d calls, not %d" % (mallocs, wanted)
        if ends is not None:
            exits = page.get("konfiscator_process_exits_total",
                             process="ended", reason="exit")
            assert exits == ends, "%d ends, not %d" % (exits, ends)


def ledgers_of(world):
    return [os.path.join(world.stats, f) for f in os.listdir(world.stats)
            if f.startswith(".ledger.")]
