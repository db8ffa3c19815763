# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every file that is installed is in one package for Debian, every line of the
packages' lists finds one, and all who name packages to build with name the
same."""

import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402

BUILD = os.environ["top_builddir"]
PACKAGING = os.path.join(kftest.SOURCE, "packaging")
DEBIAN = os.path.join(PACKAGING, "debian")

# What build-essential and debhelper bring, and what only they ask for.
BROUGHT = {"build-essential", "make", "libc6-dev", "autoconf", "automake",
           "libtool"}
HELPERS = {"debhelper-compat", "dh-sequence-installsysusers"}


def read(*names):
    with open(os.path.join(PACKAGING, *names), encoding="utf-8") as f:
        return f.read()


def lines(text):
    return [line for line in text.splitlines()
            if line and not line.startswith("#")]


def make(*words):
    done = subprocess.run(["make", "-s", "-C", BUILD, *words],
                          stderr=subprocess.STDOUT, stdout=subprocess.PIPE,
                          text=True, check=False,
                          env=dict(os.environ, MAKEFLAGS=""))
    assert done.returncode == 0, done.stdout
    return done.stdout


def installed(world):
    """All files, by the paths that they have in Debian."""
    root = world.path("root")
    moved = re.findall(r"^\t+'(\w+dir=.*)'$", read("debian", "rules"), re.M)
    make("install", "DESTDIR=" + root, *(m.replace("$$", "$") for m in moved))
    prefix, libdir = make("--eval", "where:; @echo $(prefix); echo $(libdir)",
                          "where").split()
    found = set()
    for directory, _, files in os.walk(root + prefix):
        for name in files:
            path = os.path.join(directory, name)[len(root):]
            if path.startswith(libdir + "/"):
                path = "usr/lib/triplet" + path[len(libdir):]
            else:
                path = "usr" + path[len(prefix):]
            if not name.endswith(".la"):
                found.add(path)
    assert len(found) > 30, found
    return found


def lists():
    """Package and line, of each line."""
    for name in sorted(os.listdir(DEBIAN)):
        if name.endswith(".install"):
            for line in lines(read("debian", name)):
                yield name[:-len(".install")], line


def every_file_is_in_one_package(world):
    files = installed(world)
    owners = {}
    for package, line in lists():
        if " " in line:
            path, _, _ = line.partition(" ")
            assert os.path.exists(os.path.join(kftest.SOURCE, path)), line
            continue
        found = {f for f in files if fnmatch.fnmatchcase(f, line) and
                 f.count("/") == line.count("/") or
                 fnmatch.fnmatchcase(f, line + "/*")}
        assert found, "%s.install: nothing is installed as %s" % (package,
                                                                  line)
        for f in found:
            assert f not in owners, (f, owners[f], package)
            owners[f] = package
    assert not files - set(owners), sorted(files - set(owners))


def every_list_is_of_a_package(_):
    packages = set(re.findall("^Package: (.*)$", read("debian", "control.in"),
                              re.M))
    assert packages == {package for package, _line in lists()}, packages


def wanted():
    return {line.split("\t")[2] for line in lines(read("debian-packages.txt"))
            if line.startswith("build\t")}


def all_name_the_same_packages(_):
    control = read("debian", "control.in")
    depends = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.M)[1]
    named = set(re.findall(r"^ ([^ ,]+)", depends, re.M))
    assert named - HELPERS == wanted() - BROUGHT, named ^ wanted()

    def after(text, start, end):
        part = text.split(start, 1)[1].split(end, 1)[0]
        return set(re.findall(r"[a-z0-9][a-z0-9.+-]+", part))

    tools = wanted() - {"make", "libc6-dev"}
    build = read("bench", "Dockerfile").split(" AS build\n", 1)[1]
    docker = after(build, "--no-install-recommends", "COPY")
    assert docker == tools, docker ^ tools
    readme = after(read("..", "README.md"), "apt-get install build-essential",
                   "autoreconf -fi")
    assert readme | {"build-essential"} == tools, readme ^ tools


# Every Debian where something can be built has these.
WITH_A_COMPILER = {"autoconf", "bash", "binutils", "build-essential",
                   "coreutils", "diffutils", "findutils", "g++", "gcc", "grep",
                   "gzip", "m4", "make", "perl", "python3", "sed", "tar",
                   "util-linux"}


def quick_tests_need_no_more_than_their_packages(_):
    """A test of ./check without --all."""
    quick = WITH_A_COMPILER | {
        line.split("\t")[2] for line in lines(read("debian-packages.txt"))
        if line.split("\t")[0] in ("build", "check")}
    tests = 0
    for path in glob.glob(os.path.join(kftest.SOURCE, "tests", "*", "*.sh")):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if "\n# tier: all\n" in text:
            continue
        tests += 1
        needs = set(re.findall(r"^needs \S+ ([a-z0-9.+-]+)$", text, re.M))
        assert needs <= quick, (path, needs - quick)
    assert tests > 100, tests


def licences_of_the_charts_are_named(_):
    """Of every library in them, in the section of the files of a release."""
    with open(os.path.join(kftest.SOURCE, "exporter", "web", "charts",
                           "package-lock.json"), encoding="utf-8") as f:
        libraries = {p["license"] for path, p in json.load(f)["packages"].items()
                     if path and not p.get("dev")}
    text = read("debian", "copyright")
    section = re.search(r"^Files: exporter/web/made/\*\n(?:.+\n)+", text, re.M)[0]
    named = re.search(r"^License: (.*)$", section, re.M)[1].split(" and ")
    assert set(named) == libraries, (named, libraries)
    for name in named:
        assert re.search(r"^License: %s\n " % re.escape(name), text, re.M), name


def one_maintainer_is_named(_):
    name, address = re.search("^MAINTAINER = (.*) <(.*)>$",
                              read("Makemodule.am"), re.M).groups()
    ros = re.search('<maintainer email="(.*)">(.*)</maintainer>',
                    read("ros2", "package.xml")).groups()
    assert ros == (address, name), ros


kftest.main(
    every_file_is_in_one_package,
    every_list_is_of_a_package,
    all_name_the_same_packages,
    quick_tests_need_no_more_than_their_packages,
    licences_of_the_charts_are_named,
    one_maintainer_is_named,
)
