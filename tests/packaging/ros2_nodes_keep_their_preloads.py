# SPDX-License-Identifier: LGPL-2.1-or-later
"""What LD_PRELOAD has stays behind the library, by the Python part and by the
XML, and a program runs so; an option is the variable that the library knows."""

import os
import re
import runpy
import subprocess
import sys
import tempfile
import types
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


def stand_ins():
    """The parts of launch and launch_ros that the files use, with the
    arguments that these take; entities keep what a process gets."""
    class LaunchDescription:
        def __init__(self, initial_entities=None):
            self.entities = list(initial_entities or ())

    class DeclareLaunchArgument:
        def __init__(self, name, *, default_value=None, description=None):
            self.name = name

    class LaunchConfiguration:
        def __init__(self, variable_name, *, default=None):
            self.name = variable_name

    class Node:
        def __init__(self, *, executable, package=None, name=None,
                     namespace=None, additional_env=None):
            self.wants = [a.name for a in (executable, package)
                          if isinstance(a, LaunchConfiguration)]
            self.env = additional_env

    class ComposableNodeContainer(Node):
        def __init__(self, *, name, namespace, composable_node_descriptions,
                     **more):
            super().__init__(name=name, namespace=namespace, **more)

    for module, names in (("launch", (LaunchDescription,)),
                          ("launch.actions", (DeclareLaunchArgument,)),
                          ("launch.substitutions", (LaunchConfiguration,)),
                          ("launch_ros", ()),
                          ("launch_ros.actions",
                           (Node, ComposableNodeContainer))):
        made = types.ModuleType(module)
        for c in names:
            setattr(made, c.__name__, c)
        sys.modules[module] = made
    return Node


def launch_files():
    """The Python ones describe processes that run under the library, with
    options that there are, and declare what they want to be told."""
    node = stand_ins()
    os.environ["LD_PRELOAD"] = "/before.so"
    for name in ("node.launch.py", "container.launch.py"):
        entities = runpy.run_path(os.path.join(ROS2, "launch", name))[
            "generate_launch_description"]().entities
        processes = [e for e in entities if isinstance(e, node)]
        assert len(processes) == 1, (name, entities)
        env = dict(processes[0].env)
        assert env.pop("LD_PRELOAD") == NAME + ":/before.so", env
        assert env and set(env) <= options(), (name, env)
        declared = [e.name for e in entities if not isinstance(e, node)]
        assert sorted(processes[0].wants) == sorted(declared), (name, declared)
    os.environ["LD_PRELOAD"] = ""


merging()
variables()
running()
launch_files()
