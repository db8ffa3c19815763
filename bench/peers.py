#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The allocators that the benchmarks compare, and the machine. As a program:
list the allocators that are found, those that are not, and how to give others."""

import argparse
import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source may be somebody else's

from measure import preloadable
from suite import die, start

# glibc is what a program has without a preload.
KNOWN = (
    ("jemalloc", ("libjemalloc.so.2",)),
    ("tcmalloc", ("libtcmalloc_minimal.so.4",)),
    ("mimalloc", ("libmimalloc.so.3", "libmimalloc.so.2.0", "libmimalloc.so.2")),
    ("rpmalloc", ("librpmallocwrap.so", "librpmalloc.so")),
    ("snmalloc", ("libsnmallocshim.so",)),
)
DIRECTORIES = ("/usr/local/lib", "/usr/lib/*-linux-gnu", "/usr/lib64",
               "/usr/lib", "/lib/*-linux-gnu", "/lib64")


SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def output(command, **more):
    """What a command prints, or "" where it cannot."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True,
                              check=False, **more)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def find(names):
    for name in names:
        for directory in DIRECTORIES:
            for path in sorted(glob.glob(os.path.join(directory, name))):
                return path
    return None


def installed():
    """Name and path of each peer on the machine; glibc has None."""
    found = {"glibc": None}
    for name, files in KNOWN:
        path = find(files)
        if path:
            found[name] = path
    return found


def is_loaded(path):
    """Whether the loader takes the library: it only warns where it cannot."""
    env = dict(os.environ, LD_PRELOAD=path)
    # Some address of the library has to be mapped from its file.
    maps = output(["cat", "/proc/self/maps"], env=env)
    return os.path.realpath(path) in maps


def serves_malloc(path):
    """Whether a program gets its malloc from this preload. A library without
    the C library's names can be preloaded and then serves nothing."""
    env = dict(os.environ, LD_PRELOAD=path, LD_DEBUG="bindings", LC_ALL="C")
    said = subprocess.run(["cat", "/dev/null"], env=env, check=False, text=True,
                          stderr=subprocess.PIPE, errors="replace").stderr
    return "to %s [0]: normal symbol `malloc'" % path in said


def version(name, path):
    """What tells this peer from another of the same name."""
    if path is None:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    real = os.path.realpath(path)
    if shutil.which("dpkg-query"):
        # dpkg may know the file by a name from before /usr was merged.
        for name in (path, real, real.replace("/usr/lib/", "/lib/", 1)):
            owner = output(["dpkg-query", "-S", name]).split(":")[0]
            if owner:
                return output(["dpkg-query", "-W", "-f",
                               "${Package} ${Version}", owner])
    return os.path.basename(real)


def commit(source):
    """The commit of the tree, and whether it was changed since."""
    git = ["git", "-C", source]
    name = output(git + ["rev-parse", "--short=12", "HEAD"])
    if not name:
        return "unknown"
    changed = output(git + ["status", "--porcelain", "--untracked-files=no"])
    return name + ("-changed" if changed else "")


def cpu():
    """The model of the processor, as the kernel names it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            for line in f:
                if line.startswith(("model name", "Model")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def machine(source):
    """What a result has to be read with."""
    return {
        "commit": commit(source),
        "kernel": platform.release(),
        "cpu": cpu(),
        "cpus": len(os.sched_getaffinity(0)),
    }


def pair(what):
    """NAME=VALUE, neither of them empty."""
    name, sep, value = what.partition("=")
    if not (name and sep and value):
        raise argparse.ArgumentTypeError("'%s' is not NAME=PATH" % what)
    return name, value


def setting(what):
    """PEER:VARIABLE=VALUE."""
    peer, sep, rest = what.partition(":")
    name, equals, value = rest.partition("=")
    if not (peer and sep and name and equals):
        raise argparse.ArgumentTypeError(
            "'%s' is not PEER:VARIABLE=VALUE" % what)
    return peer, name, value


def positive(what):
    if not what.isdigit() or int(what) < 1:
        raise argparse.ArgumentTypeError("'%s' is not 1 or more" % what)
    return int(what)


def add_options(p, ratios=True):
    """Those of all the programs that compare. Without ratios none of the peers
    is the reference or the subject."""
    p.add_argument("--library", metavar="PATH",
                   help="the library that is the peer konfiscator")
    p.add_argument("--build", metavar="DIR", default=".",
                   help="the build directory (the current one)")
    p.add_argument("--peer", metavar="NAME=PATH", type=pair, action="append",
                   default=[], help="add a library, or replace one")
    p.add_argument("--peers", metavar="NAME,...",
                   help="only these, in this order (all that are found)")
    p.add_argument("--env", metavar="PEER:VARIABLE=VALUE", type=setting,
                   action="append", default=[],
                   help="an option for one of the peers")
    if not ratios:
        return
    p.add_argument("--reference", metavar="NAME", default="glibc",
                   help="the peer that ratios are to (glibc)")
    p.add_argument("--subject", metavar="NAME", default="konfiscator",
                   help="the peer that means are of (konfiscator)")


def chosen(args):
    """Name and path of each peer."""
    args.build = os.path.abspath(args.build)
    found = installed()
    if args.library:
        found["konfiscator"] = args.library
    found.update(args.peer)
    if args.peers:
        names = args.peers.split(",")
        for name in names:
            if name not in found:
                die("peer '%s' is not one of %s" % (name, ", ".join(found)))
        found = {n: found[n] for n in names}
    for what in ("reference", "subject"):
        if getattr(args, what, None) not in (None, *found):
            die("--%s '%s' is not one of the peers %s%s" %
                (what, getattr(args, what), ", ".join(found),
                 "" if args.library else "; --library PATH adds konfiscator"))
    for peer, _, _ in args.env:
        if peer not in found:
            die("--env: '%s' is not one of the peers %s" %
                (peer, ", ".join(found)))
    for name, path in found.items():
        if path and not os.path.isfile(path):
            die("peer %s: %s is not there" % (name, path))
    return found


def preloads(bench, found):
    """LD_PRELOAD of each peer. Dies where the loader refuses a library, warns
    where programs do not get its malloc."""
    paths = {n: bench.preload(p) for n, p in found.items()}
    for name, path in paths.items():
        if path and not is_loaded(path):
            die("peer %s: %s cannot be preloaded" % (name, found[name]))
        if path and not serves_malloc(path):
            print("warning: peer %s: programs do not get the malloc of %s" %
                  (name, found[name]), file=sys.stderr)
    return paths


def settings(args, name):
    """The variables of --env for a peer."""
    return {v: x for p, v, x in args.env if p == name}


def described(args, found, commit_name):
    """What a result keeps of the peers: path, version and options."""
    kept = {}
    for name, path in found.items():
        words = [commit_name if name == "konfiscator" else version(name, path)]
        words += ["%s=%s" % s for s in settings(args, name).items()]
        kept[name] = {"path": path, "version": " ".join(words)}
    return kept


def listed(args):
    """What is found, what is not, and how to give others, in lines."""
    found = chosen(args)
    kept = described(args, found, commit(SOURCE))
    lines = []
    with tempfile.TemporaryDirectory(prefix="konfiscator-bench.") as root:
        for name, path in found.items():
            line = "%s: %s, %s" % (name, kept[name]["version"],
                                   path or "without a preload")
            if path and not serves_malloc(preloadable(path, root)):
                line += ": NOT USABLE, programs do not get its malloc"
            lines.append(line)
    lines += ["%s: not found (%s)" % (name, " or ".join(files))
              for name, files in KNOWN if name not in found]
    return lines + [
        "", "Looked for in: " + " ".join(DIRECTORIES),
        "For other libraries and versions: "
        "make bench PEERS='NAME=/PATH/LIBRARY.so ...'",
        "bench/README.md has commands that build them."]


def main():
    p = argparse.ArgumentParser(prog="peers.py", allow_abbrev=False,
                                description=__doc__)
    add_options(p, ratios=False)
    args = p.parse_args()
    print("\n".join(listed(args)))


if __name__ == "__main__":
    start(main)
