# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stats files in other mount namespaces are found by --stats.containers, never
deleted, not counted twice, and no link leads out of them; who may not look is
told."""

import os
import signal
import subprocess
import sys

import kftest

INSIDE = """
set -e
mount -t tmpfs none "$1"
mkdir "$1/stats" "$1/trap"
shift
exec "$@"
"""
WORK = "import sys, os\nb = [bytearray(1000) for _ in range(5000)]\n" \
       "print(len(b), flush=True)\nsys.stdin.readline()\n"


def inside(world, *command, **kw):
    """A process in a mount namespace of its own, with a tmpfs nobody else sees
    at world's directory "in"."""
    kftest.need("unshare")
    if os.geteuid() != 0:
        raise kftest.Skip("namespaces of others need root")
    os.makedirs(world.path("in"), exist_ok=True)
    if subprocess.run(["unshare", "-m", "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        raise kftest.Skip("no mount namespaces here")
    process = world.run("unshare", "-m", "sh", "-c", INSIDE, "sh",
                        world.path("in"), *command, bufsize=0,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, **kw)
    return process


def state(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        return f.read().rsplit(") ", 1)[1][0]


def worker(world):
    link = world.path("lib.so")
    if not os.path.exists(link):
        os.symlink(os.path.realpath(os.environ["KF_LIB"]), link)
    process = inside(
        world, "env", "LD_PRELOAD=" + link,
        "KONFISCATOR_DIR=" + world.path("in", "stats"),
        "KONFISCATOR_NAME=boxed", sys.executable, "-c", WORK)
    assert process.stdout.readline() == b"5000\n"
    # it calls on after its answer, so it is made to stand still
    process.send_signal(signal.SIGSTOP)
    kftest.until("it stands still", lambda: state(process.pid) == "T")
    return process


def a_container_is_seen_and_left_alone(world):
    boxed = worker(world)
    assert not os.path.exists(world.path("in", "stats"))
    assert "boxed" not in world.exporter().scrape().text
    exporter = world.exporter("--stats.containers", state=world.state)
    page = exporter.scrape()
    mallocs = page.get("konfiscator_malloc_total", process="boxed")
    assert mallocs >= 5000
    assert page.get("konfiscator_processes", process="boxed") == 1
    assert page.get("konfiscator_exporter_hidden_processes") >= 0
    assert exporter.scrape().get("konfiscator_malloc_total",
                                 process="boxed") == mallocs
    root = "/proc/%d/root" % boxed.pid
    assert len(os.listdir(root + world.path("in", "stats"))) >= 1
    world.end(boxed)
    for _ in range(3):
        page = exporter.scrape()
        assert page.get("konfiscator_malloc_total", process="boxed") == mallocs
        assert page.get("konfiscator_processes", process="boxed") == 0
    exporter.stop()
    page = world.exporter("--stats.containers", state=world.state).scrape()
    assert page.get("konfiscator_malloc_total", process="boxed") == mallocs


MAPPER = """
import mmap, os, subprocess, sys
with open(sys.argv[1], "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
if len(sys.argv) > 2:
    # mounted over: from now on the path that maps tells leads elsewhere
    trap = os.path.dirname(sys.argv[1])
    subprocess.run(["mount", "-t", "tmpfs", "none", os.path.dirname(trap)],
                   check=True)
    os.symlink(sys.argv[2], trap)
print("mapped", flush=True)
sys.stdin.readline()
"""


def no_link_leads_out_of_a_container(world):
    """The host has a file at a path that a container may not name."""
    secret = world.path("secret")
    os.mkdir(secret)
    sleeper = world.sleeper()
    path = world.stats_file("s.%d.x" % sleeper.pid, pid=sleeper.pid,
                            name="secret", blocks="64:9:0")
    os.rename(path, os.path.join(secret, "a.1.b"))
    # in the container there is a directory of that name as well, empty
    script = ("mount -t tmpfs none '%s'; printf x >'%s/trap/a.1.b'; "
              'exec "$@"' % (secret, world.path("in")))
    process = inside(world, "sh", "-c", script, "sh", sys.executable, "-c",
                     MAPPER, world.path("in", "trap", "a.1.b"), secret)
    assert process.stdout.readline() == b"mapped\n"
    page = world.exporter("--stats.containers").scrape()
    assert "secret" not in page.text, page.text


def a_false_stats_file_does_no_harm(world):
    process = inside(world, "sh", "-c",
                     "printf 'KFFSTAT1 and so on' >'%s/trap/a.1.b'; "
                     'exec "$@"' % world.path("in"), "sh", sys.executable,
                     "-c", MAPPER, world.path("in", "trap", "a.1.b"))
    assert process.stdout.readline() == b"mapped\n"
    page = world.exporter("--stats.containers").scrape()
    bad = sum(page.get("konfiscator_stats_files", result=r)
              for r in ("foreign", "incompatible", "damaged", "not_ready"))
    assert bad == 1, page.text


def who_may_not_look_says_so(world):
    kftest.need("setpriv")
    worker(world)
    os.chmod(world.dir, 0o755)
    exporter = world.exporter("--stats.containers", prefix=[
        "setpriv", "--bounding-set=-all", "--inh-caps=-all",
        "--ambient-caps=-all", "--reuid=65534", "--clear-groups"])
    page = exporter.scrape()
    assert page.get("konfiscator_exporter_hidden_processes") >= 1
    exporter.says("CAP_SYS_PTRACE is missing")


kftest.main(
    a_container_is_seen_and_left_alone,
    no_link_leads_out_of_a_container,
    a_false_stats_file_does_no_harm,
    who_may_not_look_says_so,
)
