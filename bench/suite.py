# SPDX-License-Identifier: LGPL-2.1-or-later
"""The suite: which tests there are, what they run, what they need."""

import fnmatch
import os
import re
import shutil
import sys

GROUPS = ("synthetic", "real")
NEEDS = re.compile(r"^# needs: +(\S+) +(\S+) *$", re.MULTILINE)


def die(message):
    """One line, and the status of wrong usage."""
    print("%s: %s" % (os.path.basename(sys.argv[0]), message), file=sys.stderr)
    sys.exit(2)


class Test:
    """A line of suite.txt. `path` is the program, or None where it is not
    there, and `script` whether it is a workload."""

    def __init__(self, name, group, command, arguments, source, build):
        self.name = name
        self.group = group
        self.command = command
        self.arguments = arguments
        self.path = None
        self.needs = []
        program = os.path.join(build, "bench", "programs", command)
        script = os.path.join(source, "bench", "workloads", command)
        self.script = not os.path.isfile(program) and os.path.isfile(script)
        if self.script:
            self.path = script
            with open(script, encoding="utf-8", errors="replace") as f:
                self.needs = NEEDS.findall(f.read())
        elif os.path.isfile(program):
            self.path = program

    def argv(self):
        return [self.path] + self.arguments

    def missing(self):
        """Why the test cannot run here, or None."""
        if not self.path:
            return "%s is not built" % self.command
        for command, package in self.needs:
            if not shutil.which(command):
                return "%s missing (%s)" % (command, package)
        return None


def read(path, source, build):
    """All tests of a suite, in the order of the file."""
    tests = []
    names = set()
    try:
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
    except OSError as e:
        die("%s: %s" % (path, e.strerror))
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = "%s:%d" % (path, number)
        if len(words) < 3:
            die("%s: a test is NAME GROUP COMMAND ARGUMENT..., not '%s'" %
                (where, line))
        name, group, command = words[:3]
        if group not in GROUPS:
            die("%s: group '%s' is not one of %s" %
                (where, group, ", ".join(GROUPS)))
        if name in names:
            die("%s: test '%s' is there twice" % (where, name))
        names.add(name)
        tests.append(Test(name, group, command, words[3:], source, build))
    if not tests:
        die("%s: there is no test in it" % path)
    return tests


def select(tests, only, group):
    """Those of a group (None: all) that match one of the globs (none: all).
    Works on everything that has a name and a group."""
    for pattern in only:
        if not any(fnmatch.fnmatchcase(t.name, pattern) for t in tests):
            die("no test matches '%s'; --list names them" % pattern)
    chosen = [t for t in tests
              if (not group or t.group == group) and
              (not only or any(fnmatch.fnmatchcase(t.name, p) for p in only))]
    if not chosen:
        die("no test is left by --only and --group")
    return chosen


def start(main, *words):
    """Run a program of this directory, to its exit status."""
    try:
        sys.exit(main(*words))
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        die(str(error))
