# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each end of a process that left its file is counted by its cause, once, over
restarts of the exporter, whether the exporter saw it alive or not."""

import os
import signal
import subprocess
import sys

import kfprom
import kftest

ENDED = "konfiscator_ended_total"
CAUSES = ("exit", "exit_failure", "signal_or_exit", "crash", "oom",
          "likely_oom", "unknown")


def counts(page):
    return {cause: page.get(ENDED, process="dying", cause=cause)
            for cause in CAUSES}


def equal(had, wanted):
    assert had == wanted, "%r, not %r" % (had, wanted)


def run(env, code, status):
    assert subprocess.run([sys.executable, "-c", code], env=env,
                          check=False).returncode == status


def ends_are_told_apart_and_count_once(world):
    env = dict(kfprom.under_library(world), KONFISCATOR_KEEP="1",
               KONFISCATOR_NAME="dying")
    run(env, "pass", 0)
    run(env, "import sys; sys.exit(3)", 3)
    run(env, "import os; os._exit(4)", 4)
    run(env, "import os; os.kill(os.getpid(), 9)", -signal.SIGKILL)
    # it ends later, and an exporter that began before counts it, too
    with subprocess.Popen(
            [sys.executable, "-c", "import sys; print(); sys.stdout.flush();"
             "sys.stdin.read()"], env=env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) as seen:
        seen.stdout.readline()
        wanted = dict.fromkeys(CAUSES, 0)
        wanted.update(exit=1, exit_failure=1, signal_or_exit=2)
        for _ in range(2):
            exporter = world.exporter(state=world.state)
            for _ in range(2):
                equal(counts(exporter.scrape()), wanted)
            exporter.stop(signal.SIGKILL)
        exporter = world.exporter(state=world.state)
        exporter.scrape()
        seen.kill()
        seen.wait(kftest.PATIENCE)
    wanted["signal_or_exit"] += 1
    for _ in range(2):
        page = exporter.scrape()
        equal(counts(page), wanted)
    equal(page.get("konfiscator_process_exits_total", process="dying",
                   reason="exit"), 5)


def a_file_of_another_boot_has_an_unknown_end(world):
    world.stats_file("a", start=1, boot="another", comm="dying")
    page = world.exporter().scrape()
    equal(counts(page)["unknown"], 1)


def an_exec_is_no_end(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, exe="/bin/gone", comm="dying")
    page = world.exporter().scrape()
    assert not any(counts(page).values())
    assert os.path.exists(os.path.join(world.stats, "a"))


kftest.main(ends_are_told_apart_and_count_once,
            a_file_of_another_boot_has_an_unknown_end,
            an_exec_is_no_end)
