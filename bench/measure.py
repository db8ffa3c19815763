# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run of one command under one allocator: bench/launch does it, from a
directory of its own, in an environment that holds nothing of the user's."""

import os
import shutil
import signal
import subprocess
import tempfile

from suite import die

# Settings of allocators that are not this comparison's.
FOREIGN = ("LD_PRELOAD", "MALLOC_", "KONFISCATOR_", "GLIBC_TUNABLES",
           "MIMALLOC_", "TCMALLOC_", "PYTHONMALLOC", "BENCH_DATA")


class Failure(Exception):
    """A run that gave no figure; the text says why."""


def reason(how, number, limit, last_line):
    """One line for a run that did not end well."""
    if how == "limit":
        return "not done after %d s" % limit
    if how == "signal":
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = "?"
        text = "signal %d (%s)" % (number, name)
    else:
        text = "exit status %d" % number
    return text + (": " + last_line if last_line else "")


def last_line(path):
    try:
        with open(path, "rb") as f:
            f.seek(0, os.SEEK_END)
            f.seek(max(0, f.tell() - 4096))
            lines = f.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    lines = [l.strip() for l in lines if l.strip()]
    return lines[-1][:120] if lines else ""


def preloadable(path, root):
    """A name for a library that LD_PRELOAD can hold: no space, no colon.

    It may lie in a directory that is made in root.
    """
    if not path:
        return ""
    if not any(c in path for c in " :"):
        return os.path.abspath(path)
    here = tempfile.mkdtemp(dir=root)
    link = os.path.join(here, os.path.basename(path))
    os.symlink(os.path.abspath(path), link)
    return link


class Bench:
    """A scratch directory, what lasts over its runs, and how to run."""

    def __init__(self, build, limit):
        self.launch = os.path.abspath(os.path.join(build, "bench", "launch"))
        if not os.path.isfile(self.launch):
            die("%s is not there: run make bench, or give --build" %
                self.launch)
        self.limit = limit
        self.root = tempfile.mkdtemp(prefix="konfiscator-bench.")
        self.data = os.path.join(self.root, "data")
        self.home = os.path.join(self.root, "home")
        os.mkdir(self.data)
        os.mkdir(self.home)
        self.prepared = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Only what mkdtemp made; a workload may have left it read-only.
        shutil.rmtree(self.root, ignore_errors=True)

    def preload(self, path):
        """preloadable(), for as long as this is there."""
        return preloadable(path, self.root)

    def environment(self, scratch, more):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(FOREIGN)}
        env.update(LC_ALL="C", HOME=self.home, TMPDIR=scratch,
                   BENCH_DATA=self.data,
                   KONFISCATOR_DIR=os.path.join(scratch, ".stats"))
        env.update(more)
        return env

    def run(self, argv, preload="", more=None, watched=False):
        """Wall and CPU seconds and peak bytes of a command, and the last
        line that it printed, as a dict. Watched: also the bytes of memory
        over time that are known."""
        scratch = tempfile.mkdtemp(dir=self.root)
        os.mkdir(os.path.join(scratch, ".stats"), 0o700)
        log = os.path.join(self.root, "output")
        try:
            done = subprocess.run(
                [self.launch] + ["-m"] * watched +
                [log, str(self.limit), preload] + argv,
                cwd=scratch, env=self.environment(scratch, more or {}),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                text=True, check=False)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        first, _, second = done.stdout.partition("\n")
        words = first.split()
        if done.returncode or len(words) != 6:
            raise Failure("bench/launch ended with status %d" %
                          done.returncode)
        if words[4:] != ["exit", "0"]:
            raise Failure(reason(words[4], int(words[5]), self.limit,
                                 last_line(log)))
        got = {"wall": int(words[0]) / 1e9,
               "cpu": (int(words[1]) + int(words[2])) / 1e6,
               "rss": int(words[3]) * 1024,
               "last": last_line(log)}
        got.update((figure, int(kib) * 1024) for figure, kib in
                   zip(("mean", "end", "dirty", "pss"), second.split())
                   if kib != "-")
        return got

    def prepare(self, test):
        """Let a workload make its data, once; why it could not, or None."""
        if not test.script:
            return None
        if test.path not in self.prepared:
            self.prepared[test.path] = None
            try:
                self.run([test.path, "prepare"])
            except Failure as e:
                self.prepared[test.path] = "prepare: %s" % e
        return self.prepared[test.path]
