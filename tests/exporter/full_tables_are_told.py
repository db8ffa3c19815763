# SPDX-License-Identifier: LGPL-2.1-or-later
"""Samples whose stacks, or their outer calls, found no room are counted, and a
line of report, explain and the process' page says how many; top has their
memory in a row of its own."""

import os
import subprocess

import kftest

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[30];
static int nr;

/* an asm keeps compilers from making loops and jumps of calls */
__attribute__((noinline, noclone)) static int tail(int more)
{
	int r = 0;

	if (more)
		r = tail(more - 1);
	else
		kept[nr++] = malloc(200000);
	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

__attribute__((noinline, noclone)) static int one(int level, int bits);

__attribute__((noinline, noclone)) static int zero(int level, int bits)
{
	int r;

	if (level == 4)
		r = tail(66);
	else
		r = bits >> level & 1 ? one(level + 1, bits)
				      : zero(level + 1, bits);
	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

static int one(int level, int bits)
{
	int r = bits >> level & 1 ? one(level + 1, bits)
				  : zero(level + 1, bits);

	__asm__ volatile("" : "+r"(r));
	return r + 2;
}

int main(void)
{
	for (int i = 0; i < 30; i++)
		zero(0, i / 3 & 7);
	write(1, "done\\n", 5);
	return (int)read(0, (void *)&kept[0], 1);
}
"""
# of 30 samples in 8 stacks, of which 4 have entries: the last one of these 4
# finds no room for its outer calls
STACKS = "12 samples were counted without their stacks: the table of stacks " \
         "was full"
OUTER = "3 samples lack outer calls: the table of calls was full"
SIZE = "KONFISCATOR_SAMPLE_STACKS sets its size"


def begin(world, entries):
    source = world.path("program.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    subprocess.run([*os.environ["CC"].split(), "-w", "-O1", "-o",
                    world.path("program"), source], check=True)
    os.symlink(os.environ["KF_LIB"], world.path("lib.so"))
    process = world.run(
        "env", "LD_PRELOAD=" + world.path("lib.so"),
        "KONFISCATOR_DIR=" + world.stats, "KONFISCATOR_SAMPLE=1K",
        "KONFISCATOR_SAMPLE_STACKS=%d" % entries, world.path("program"),
        bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"done\n"
    return process


def konfiscator(world, *args):
    """What it says, on both streams."""
    done = subprocess.run([os.environ["KF_CLI"], "--dir=" + world.stats, *args],
                          check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout


def said(world, process):
    """The texts of report, explain and the page."""
    file, = [n for n in world.stats_names() if n.startswith("program.")]
    status, _, page = world.exporter().request("/process?pid=%d" % process.pid)
    assert status == 200
    return [konfiscator(world, "report", os.path.join(world.stats, file)),
            konfiscator(world, "explain", "--watch=0", "-p",
                        str(process.pid)), page.decode()]


def views_tell_what_full_tables_have_lost(world):
    process = begin(world, 4)
    for text in said(world, process):
        assert "%s; %s; %s" % (STACKS, OUTER, SIZE) in text, text
    text = konfiscator(world, "top", "--batch=1", "--view=sites")
    assert "[stacks beyond the table]" in text, text


def tables_with_room_are_not_mentioned(world):
    for text in said(world, begin(world, 100)):
        assert SIZE not in text, text


kftest.main(views_tell_what_full_tables_have_lost,
            tables_with_room_are_not_mentioned)
