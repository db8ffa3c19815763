# SPDX-License-Identifier: LGPL-2.1-or-later
"""report, top, explain, folded stacks, the HTML page, pprof's format and the
exporter's pages have the same names for the stacks of one process."""

import gzip
import os
import re
import subprocess

import kftest

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[100];
static int nr;

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static void gamma_keeps(void) { kept[nr++] = malloc(100000); }
NOINLINE static void beta_asks(void) { gamma_keeps(); kept[0] = kept[1]; }
NOINLINE void alpha_begins(void) { beta_asks(); kept[0] = kept[1]; }

int main(void)
{
	while (nr < 100)
		alpha_begins();
	write(1, "done\\n", 5);
	return (int)read(0, (void *)&kept[0], 1);
}
"""
NAMES = ["main", "alpha_begins", "beta_asks", "gamma_keeps"]


def begin(world):
    source = world.path("program.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    subprocess.run([*os.environ["CC"].split(), "-w", "-O1",
                    "-fno-optimize-sibling-calls", "-o", world.path("program"),
                    source], check=True)
    os.symlink(os.environ["KF_LIB"], world.path("lib.so"))
    process = world.run(
        "env", "LD_PRELOAD=" + world.path("lib.so"),
        "KONFISCATOR_DIR=" + world.stats, "KONFISCATOR_SAMPLE=1K",
        world.path("program"), bufsize=0, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"done\n"
    return process


def has_names(what, text):
    """All names, from the inside out or from the outside in."""
    for names in (NAMES, NAMES[::-1]):
        if re.search(".*?".join(names), text, re.DOTALL):
            return
    raise AssertionError("%s has not the names: %s" % (what, text[:2000]))


def names_are_the_same_everywhere(world):
    process = begin(world)
    file, = [os.path.join(world.stats, n) for n in world.stats_names()
             if n.startswith("program.")]
    cli = [os.environ["KF_CLI"], "--dir=" + world.stats]
    for what in (["report", file], ["top", "--batch=1", "--view=sites"],
                 ["explain", "--watch=0", "-p", str(process.pid)]):
        done = subprocess.run(cli + what, check=True, capture_output=True,
                              text=True)
        has_names(what[0], done.stdout)
    for suffix in ("folded", "html", "json", "speedscope.json", "pb.gz"):
        out = world.path("out." + suffix)
        subprocess.run(cli + ["report", "-o", out, file], check=True,
                       capture_output=True)
        with open(out, "rb") as f:
            data = f.read()
        if suffix == "pb.gz":
            # strings are in the order in which frames come first
            data = gzip.decompress(data)
        has_names(suffix, data.decode("utf-8", "replace"))
    exporter = world.exporter()
    for path in ("/process?pid=%d" % process.pid, "/debug/pprof/heap"):
        status, _, body = exporter.request(path)
        assert status == 200, (path, status)
        if path.endswith("heap"):
            body = gzip.decompress(body)
        has_names(path, body.decode("utf-8", "replace"))


kftest.main(names_are_the_same_everywhere)
