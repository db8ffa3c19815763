#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The order of the library's functions for src/layout.list: what only the start
runs lies in pages of its own, and so do what all programs need, what most of
them run, and what few do. Which these are is seen under callgrind."""

import argparse
import bisect
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

from suite import die

# Short programs, each with what another one has not; what only one of them
# runs comes in this order. The second allocates before the library has started,
# the second python3 calls dlopen.
SMALL = "bench/programs/simple 1 16 150"
PROGRAMS = (
    "cat /proc/self/smaps",
    "ls /",
    "jq -n 1",
    "bench/programs/short-threads 2 40 100 1024",
    "bench/programs/larson 2 10 1000 20000 16 1024",
    sys.executable + " -c pass",
    sys.executable + " -m zipfile --help",
    "bench/programs/lisp 5 2 1000",
    "bench/programs/espresso 1 24 60",
    "bench/programs/vectors 1 2 4 16 200000 50 16",
    "bench/programs/vectors 1 2 1 16 16777216 50 16",
    "bench/programs/vectors 1 1 10 64 1000000 0 4096",
    "bench/programs/trees 1 6",
    "bench/programs/strings 1 1 5000",
    "bench/programs/zeroed 1 1000 1000 16 1024",
    "bench/programs/zeroed 1 100 10 65536 262144",
    "bench/programs/aligned 1 1000 1000 4096 4096",
    "bench/programs/large 1 100 10 1 1024 5",
    "bench/programs/large 1 20 4 1024 30720 100",
    "bench/programs/large 1 1000 64 1 8192 5",
)
# One that allocates nothing once the library has started.
LEAST = "true"
# To these a window more is nothing: what only they run comes behind all else.
LARGE = (
    "redis-server --version",
    "clang --version",
)
# What less than one in so many programs run is seldom run.
SELDOM = 3
# Where it is called the start is over.
START_ENDS = "start_is_over"
# Bytes that the kernel maps at once around a page of a file.
WINDOW = 65536
PAGE = 4096
# Where the library is, as valgrind has loaded it.
BIAS = re.compile(r"PT_LOAD\[0\]:.*bias (0x[0-9a-f]+)")
# Number, name and bytes of a section.
SECTION = re.compile(r"\[ *(\d+)\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)")
Symbol = collections.namedtuple("Symbol", "at size name")
# Objects, named once and by number from then on.
OBJECT = re.compile(r"(c?ob)=(\(\d+\))(?: (.*))?$")


def profiles(library, command, **settings):
    """(whether it is the start's, lines, the library's address) of a program."""
    if not shutil.which(command.split()[0]):
        die("%s: not there, and the order depends on it" % command)
    with tempfile.TemporaryDirectory() as place:
        out, log = pathlib.Path(place, "out"), pathlib.Path(place, "log")
        subprocess.run(
            ["valgrind", "--trace-symtab=yes",
             "--trace-symtab-patt=*" + library.resolve().name,
             "--log-file=%s" % log, "--tool=callgrind", "--dump-instr=yes",
             "--compress-pos=no", "--callgrind-out-file=%s" % out,
             "--dump-before=" + START_ENDS] + command.split(),
            env=dict(os.environ, LD_PRELOAD=str(library), **settings),
            check=True, stdout=subprocess.DEVNULL)
        bias = BIAS.search(log.read_text(errors="replace"))
        if not bias:
            die("%s: valgrind does not say where it is" % library)
        for path in sorted(out.parent.glob("out*")):
            yield (path.suffix == ".1",
                   path.read_text(errors="replace").splitlines(),
                   int(bias[1], 16))


def functions(library, command, **settings):
    """(symbol, whether at start) of the library's functions that a program
    runs. Of what is not in .text valgrind knows where it is, but no object."""
    order = symbols(library)
    starts = [symbol.at for symbol in order]
    for at_start, lines, bias in profiles(library, command, **settings):
        names, seen, now = {}, set(), ""
        for line in lines:
            found = OBJECT.match(line)
            if found and found[3]:
                names[found[2]] = found[3]
            if found and found[1] == "ob":
                now = names[found[2]]
            elif line.startswith("0x") and now == "???":
                seen.add(int(line.split()[0], 16) - bias)
            elif line.startswith("0x") and library.resolve().name in now:
                seen.add(int(line.split()[0], 16))
        for address in seen:
            symbol = order[bisect.bisect_right(starts, address) - 1]
            if symbol.at <= address < symbol.at + symbol.size:
                yield symbol, at_start


def sections(build):
    """name -> sections of the library's functions, section -> its bytes."""
    found = collections.defaultdict(set)
    room = collections.Counter()
    objects = [obj for stem in ("libkfcore_la", "libkonfiscator_la")
               for obj in build.glob("src/**/.libs/%s-*.o" % stem)]
    for obj in objects:
        names = {}
        for number, name, size in SECTION.findall(output("readelf", "-SW", obj)):
            names[number] = name
            room[name] += int(size, 16) + 15 & ~15
        for field in map(str.split, output("readelf", "-sW", obj).splitlines()):
            section = names.get(field[6]) if len(field) == 8 else None
            if section and field[3] == "FUNC" and section != ".text":
                found[field[7]].add(section)
    return found, room


def output(*command):
    return subprocess.run(command, check=True, text=True,
                          capture_output=True).stdout


def symbols(library):
    """The library's functions by their addresses."""
    fields = map(str.split, output("nm", "-S", library).splitlines())
    return sorted(Symbol(int(field[0], 16), int(field[1], 16), field[3])
                  for field in fields if len(field) == 4 and field[2] in "tT")


def watched(library):
    """Where the functions are that others call, and those with a probe:
    tracers put breakpoints there."""
    found = {int(line.split()[0], 16)
             for line in output("nm", "-D", "--defined-only",
                                library).splitlines()}
    probes = [int(probe, 16) for probe in
              re.findall(r"Location: 0x([0-9a-f]+)",
                         output("readelf", "-nW", library))]
    found.update(symbol.at for symbol in symbols(library) for probe in probes
                 if symbol.at <= probe < symbol.at + symbol.size)
    return found


def tell_beyond(library):
    """Bytes of functions that a small program runs, and of those which lie
    elsewhere than they should: in the first window of the code, or in the one
    before if only the start runs them."""
    first = int(re.search(r"^([0-9a-f]+) . kf_self_ended$",
                          output("nm", library), re.MULTILINE)[1], 16)
    ran = set(functions(library, SMALL))
    later = {symbol for symbol, at_start in ran if not at_start}
    once = {symbol for symbol, _ in ran} - later
    beyond = [symbol for symbol in later
              if not 0 <= symbol.at - first < WINDOW]
    beyond += [symbol for symbol in once
               if not -WINDOW <= symbol.at - first < WINDOW]
    print(sum(symbol.size for symbol in once | later),
          sum(symbol.size for symbol in beyond))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=".")
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--beyond", action="store_true",
                        help="print only how much runs of a small program, "
                        "and how much of it behind the first window")
    args = parser.parse_args()
    library = args.library.absolute()
    if args.beyond:
        tell_beyond(library)
        return
    known, room = sections(args.build)
    apart = watched(library)
    # A name in the list stands for all functions that have it.
    guarded = {section for symbol in symbols(library) if symbol.at in apart
               for section in known[symbol.name]}
    uses = collections.Counter()
    place = {}
    later, first = set(), set()
    with tempfile.TemporaryDirectory() as work:
        # The stats file has three places where it may be.
        runs = [(SMALL, {}), (SMALL, {"KONFISCATOR_DIR": work}),
                (SMALL, {"XDG_RUNTIME_DIR": work})]
        runs += [(command, {}) for command in (LEAST,) + PROGRAMS + LARGE]
        for at, (command, settings) in enumerate(runs):
            ran = set()
            for symbol, start in functions(library, command, **settings):
                ran |= known[symbol.name]
                if not start:
                    later |= known[symbol.name]
                if command == LEAST and not start:
                    first |= known[symbol.name]
            first |= ran & guarded
            later |= first
            for section in ran:
                uses[section] += command not in LARGE
                place.setdefault(section, at)
    if not uses:
        die("no function of %s has run" % library)
    order = sorted(uses, key=lambda s: (-uses[s], place[s], s))
    often = len(PROGRAMS) / SELDOM
    start = [s for s in order if s not in later]
    rest = [s for s in order if s in later - first]
    tell("start %d" % -(-sum(room[s] for s in start) // PAGE), start)
    tell("first", [s for s in order if s in first])
    tell("later", [s for s in rest if uses[s] >= often])
    tell("seldom", [s for s in rest if uses[s] < often])


def tell(part, listed):
    """A part of the list; the start's has the pages that it takes."""
    print(part)
    for section in listed:
        print(re.sub(r"\.(constprop|isra|part)\.\d+$", "", section))


if __name__ == "__main__":
    main()
