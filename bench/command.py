# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command that is measured, and its replays under the allocators."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import measure

SUBJECT = "konfiscator"


def rows(args, *argv):
    """The rows that a command prints."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(measure.FOREIGN)}
    done = subprocess.run([os.path.join(args.build, "konfiscator"), "-q",
                           "--format=json", *argv],
                          stdout=subprocess.PIPE, check=False, env=env)
    if done.returncode:
        raise measure.Failure("konfiscator %s ended with status %d" %
                              (argv[0], done.returncode))
    return json.loads(done.stdout)


def whatif(args, found, *argv):
    """The row of each peer, and of glibc and the library in any case."""
    names = {"glibc": "glibc", SUBJECT: SUBJECT}
    allocators = []
    for name, path in found.items():
        if name not in names and path:
            allocators.append("--allocator=" + os.path.abspath(path))
            names[name] = os.path.basename(path)
    by_name = {r["allocator"]: r
               for r in rows(args, "whatif", *allocators, *argv)}
    return {n: by_name[a] for n, a in names.items()}
