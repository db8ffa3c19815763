#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The order of the library's functions for src/layout.list: what programs of
most kinds run comes first, and what only the start runs lies in pages of its
own. Which these are is seen under callgrind."""

import argparse
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
# runs comes in this order. The second allocates before the library has started.
SMALL = "bench/programs/simple 1 16 150"
PROGRAMS = (
    "cat /proc/self/smaps",
    "jq -n 1",
    "bench/programs/short-threads 2 40 100 1024",
    "bench/programs/larson 2 10 1000 20000 16 1024",
    sys.executable + " -c pass",
    "bench/programs/lisp 5 2 1000",
    "bench/programs/vectors 1 2 4 16 200000 50 16",
    "bench/programs/zeroed 1 1000 1000 16 1024",
    "bench/programs/zeroed 1 100 10 65536 262144",
    "bench/programs/aligned 1 1000 1000 4096 4096",
    "bench/programs/large 1 100 10 1 1024 5",
)
# To these a window more is nothing: what only they run comes behind all else.
LARGE = (
    "redis-server --version",
    "clang --version",
)
# Where it is called the start is over.
START_ENDS = "kf_self_rest"
# Bytes that the kernel maps at once around a page of a file.
WINDOW = 65536
# Files and functions, named once and by number from then on.
NAME = re.compile(r"(c?(?:ob|fi|fl|fe|fn))=\((\d+)\)(?: (.*))?$")


def profiles(library, command, **settings):
    """The profiles of a program: one of the start and one of what follows, or
    only that where the start is not over."""
    if not shutil.which(command.split()[0]):
        die("%s: not there, and the order depends on it" % command)
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place, "out")
        subprocess.run(
            ["valgrind", "-q", "--tool=callgrind",
             "--callgrind-out-file=%s" % out,
             "--dump-before=" + START_ENDS] + command.split(),
            env=dict(os.environ, LD_PRELOAD=str(library), **settings),
            check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for path in sorted(out.parent.glob("out*")):
            yield path.suffix == ".1", path.read_text(errors="replace")


def functions(library, command, **settings):
    """(name, source file, whether at start) of the library's functions that a
    program runs."""
    for at_start, profile in profiles(library, command, **settings):
        names = collections.defaultdict(dict)
        now = {}
        for line in profile.splitlines():
            found = NAME.match(line)
            if not found:
                continue
            key = found[1].lstrip("c")
            kind = "file" if key in ("fi", "fl", "fe") else key
            if found[3]:
                names[kind][found[2]] = found[3]
            now[found[1]] = names[kind][found[2]]
            if found[1] == "fn" and library.name in now["ob"]:
                yield now["fn"].split("'")[0], now["fl"], at_start


def sections(build):
    """(name, stem of the source) -> section, of all functions in the build."""
    found = {}
    for obj in build.glob("src/**/.libs/*.o"):
        stem = obj.stem.rsplit("-", 1)[-1]
        heads = subprocess.run(["readelf", "-SW", obj], check=True, text=True,
                               capture_output=True).stdout
        names = dict(re.findall(r"\[ *(\d+)\] (\S+)", heads))
        symbols = subprocess.run(["readelf", "-sW", obj], check=True,
                                 text=True, capture_output=True).stdout
        for line in symbols.splitlines():
            field = line.split()
            if len(field) == 8 and field[3] == "FUNC":
                found[field[7], stem] = names.get(field[6])
                # A header's function, which is in the objects that need it.
                found[field[7], None] = names.get(field[6])
    return found


def places(library):
    """name -> (address, bytes) of the library's functions."""
    found = {}
    symbols = subprocess.run(["nm", "-S", library], check=True, text=True,
                             capture_output=True).stdout
    for line in symbols.splitlines():
        field = line.split()
        if len(field) == 4 and field[2] in "tT":
            at = int(field[0], 16)
            # Of functions of one name nobody knows which has run.
            if at < found.get(field[3], (at + 1,))[0]:
                found[field[3]] = at, int(field[1], 16)
    return found


def watched(library):
    """Names of the functions that others call, and of those with a probe:
    tracers put breakpoints there."""
    found = set()
    symbols = subprocess.run(["nm", "-D", "--defined-only", library],
                             check=True, text=True, capture_output=True).stdout
    found.update(line.split()[-1].split("@")[0]
                 for line in symbols.splitlines())
    notes = subprocess.run(["readelf", "-nW", library], check=True, text=True,
                           capture_output=True).stdout
    where = places(library)
    for probe in re.findall(r"Location: 0x([0-9a-f]+)", notes):
        found.update(name for name, (at, size) in where.items()
                     if at <= int(probe, 16) < at + size)
    return found


def tell_beyond(library):
    """Bytes of functions that a small program runs, and of those which lie
    behind the first window of the code."""
    where = places(library)
    first = min(at for at, _ in where.values()) & -WINDOW
    ran = {name for name, _, _ in functions(library, SMALL)}
    ran = [where[name] for name in ran if name in where]
    beyond = sum(size for at, size in ran if at >= first + WINDOW)
    print(sum(size for _, size in ran), beyond)


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
    known = sections(args.build)
    apart = watched(library)
    uses = collections.Counter()
    first = {}
    later = set()
    with tempfile.TemporaryDirectory() as place:
        # The stats file has three places where it may be.
        runs = [(SMALL, {}), (SMALL, {"KONFISCATOR_DIR": place}),
                (SMALL, {"XDG_RUNTIME_DIR": place})]
        runs += [(command, {}) for command in PROGRAMS + LARGE]
        for at, (command, settings) in enumerate(runs):
            ran = set()
            for name, source, start in functions(library, command, **settings):
                section = known.get((name, pathlib.Path(source).stem),
                                    known.get((name, None)))
                ran.add(section)
                if not start or name in apart:
                    later.add(section)
            for section in ran - {None}:
                uses[section] += command not in LARGE
                first.setdefault(section, at)
    if not uses:
        die("no function of %s has run" % library)
    tell(sorted(uses, key=lambda s: (-uses[s], first[s], s)), uses, later)


def tell(order, uses, later):
    """What all run again and again, what only the start runs, and the rest."""
    most = max(uses.values())
    always = [s for s in order if s in later and uses[s] == most]
    once = [s for s in order if s not in later]
    rest = [s for s in order if s in later and uses[s] < most]
    for section in always + ["start"] + once + ["ended"] + rest:
        print(re.sub(r"\.(constprop|isra|part)\.\d+$", "", section))


if __name__ == "__main__":
    main()
