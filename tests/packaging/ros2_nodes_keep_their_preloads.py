# SPDX-License-Identifier: LGPL-2.1-or-later
"""What LD_PRELOAD has stays behind the library, by the Python part and by the
XML, and a program runs so; an option is the variable that the library knows."""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SOURCE = os.environ["top_srcdir"]
ROS2 = os.path.join(SOURCE, "packaging", "ros2")
LIBRARY = os.environ["KF_LIB"]
sys.dont_write_bytecode = True
sys.path.insert(0, ROS2)

from konfiscator_launch import (  # noqa: E402
    LIBRARY as NAME, merged_preload, under_konfiscator)


def merging():
    for before, after in ((None, "k.so"), ("", "k.so"), (" : ", "k.so"),
                          ("a.so", "k.so:a.so"), ("a.so b.so", "k.so:a.so:b.so"),
                          ("a.so:/x/b.so", "k.so:a.so:/x/b.so"),
                          ("k.so", "k.so"), ("a.so:/old/k.so", "k.so:a.so"),
                          ("ak.so", "k.so:ak.so")):
        got = merged_preload("k.so", before)
        assert got == after, (before, got)
    for bad in ("", "a b.so", "/a:b/k.so"):
        try:
            merged_preload(bad, None)
        except ValueError as e:
            assert repr(bad) in str(e)
        else:
            raise AssertionError("'%s' was taken" % bad)


def variables():
    got = under_konfiscator(environment={"LD_PRELOAD": "a.so"}, engine="tlsf",
                            tlsf_initial="200M", tlsf_prefault=True, huge=0)
    assert got == {"LD_PRELOAD": NAME + ":a.so", "KONFISCATOR_ENGINE": "tlsf",
                   "KONFISCATOR_TLSF_INITIAL": "200M",
                   "KONFISCATOR_TLSF_PREFAULT": "1", "KONFISCATOR_HUGE": "0"}
    os.environ["LD_PRELOAD"] = ""
    assert under_konfiscator() == {"LD_PRELOAD": NAME}


def options():
    """Names of the library's options, from its own table."""
    with open(os.path.join(SOURCE, "src", "core", "conf.def"),
              encoding="utf-8") as f:
        return {"KONFISCATOR_" + name.upper()
                for name in re.findall(r"^KF_CONF\((\w+),", f.read(), re.M)}


def from_xml(before, library):
    """What node.launch.xml sets: its substitutions, done by hand."""
    root = ElementTree.parse(os.path.join(ROS2, "launch", "node.launch.xml"))
    values = {a.get("name"): a.get("default") for a in root.iter("arg")}
    values["library"] = library
    env = {}
    for e in root.iter("env"):
        value = re.sub(r"\$\(var (\w+)\)", lambda m: values[m.group(1)],
                       e.get("value"))
        env[e.get("name")] = value.replace("$(env LD_PRELOAD '')", before)
    assert not [v for v in env.values() if "$" in v], env
    return env


def launched(env):
    """The libraries that a program has in it, and what it said."""
    done = subprocess.run(["cat", "/proc/self/maps"], env=env, text=True,
                          capture_output=True, check=True)
    assert done.stderr == "", done.stderr
    return done.stdout


def running():
    known = options()
    with tempfile.TemporaryDirectory() as scratch:
        # ld.so takes no path with a space.
        library = os.path.join(scratch, "libkonfiscator.so")
        os.symlink(LIBRARY, library)
        other = os.path.join(scratch, "other.so")
        subprocess.run([os.environ["CC"].split()[0], "-shared", "-o", other,
                        "-x", "c", "/dev/null"], check=True)
        for before in ("", other):
            for env in (from_xml(before, library), under_konfiscator(
                    library, {"LD_PRELOAD": before}, engine="tlsf",
                    tlsf_initial="2M")):
                unknown = set(env) - known - {"LD_PRELOAD"}
                assert not unknown, unknown
                maps = launched(dict(os.environ, KONFISCATOR_DIR=scratch,
                                     **env))
                assert os.path.realpath(LIBRARY) in maps, (env, maps)
                assert (other in maps) == bool(before), (env, maps)


def launch_files():
    """The Python ones are Python, and name only options that there are."""
    for name in ("node.launch.py", "container.launch.py"):
        path = os.path.join(ROS2, "launch", name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        compile(text, path, "exec")
        call = re.search(r"under_konfiscator\(([^)]*)\),", text).group(1)
        names = re.findall(r"(\w+)=", call)
        assert names and {"KONFISCATOR_" + n.upper() for n in names} <= \
            options(), (name, names)


merging()
variables()
running()
launch_files()
