# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who is compared, and on what machine."""

import glob
import os
import platform
import shutil
import subprocess

# glibc is what a program has without a preload.
KNOWN = (
    ("jemalloc", ("libjemalloc.so.2",)),
    ("tcmalloc", ("libtcmalloc_minimal.so.4",)),
    ("mimalloc", ("libmimalloc.so.2.0", "libmimalloc.so.2")),
)
DIRECTORIES = ("/usr/local/lib", "/usr/lib/*-linux-gnu", "/usr/lib64",
               "/usr/lib", "/lib/*-linux-gnu", "/lib64")


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
