#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The memory that it takes to replay a large recording, beyond the heap that is
replayed: that of the command, which reads the recording, and that of the
replayer, which has the heap. A recording of this size is made, and its replay
needs as much again on the disk."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ALLOWED = 300 << 20


def high_water(pid, page=1024):
    """The most resident memory of a process so far, in bytes; 0: it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * page
    except OSError:
        pass
    return 0


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(child) for child in f.read().split()]
    except OSError:
        return []


def watched(argv, env):
    """Runs a command; its output, and the peaks of it and of its children."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=env) as process:
        command = player = 0
        while process.poll() is None:
            command = max(command, high_water(process.pid))
            for child in children(process.pid):
                player = max(player, high_water(child))
            time.sleep(0.02)
        out = process.stdout.read()
    if process.returncode:
        sys.exit(f"{argv[0]} ended with status {process.returncode}")
    return out, command, player


def main():
    p = argparse.ArgumentParser(prog="large-recording.py", allow_abbrev=False,
                                description=__doc__)
    p.add_argument("--build", default=".", help="the build directory")
    p.add_argument("--size", type=int, default=8192, metavar="MIB",
                   help="of the recording (default 8192)")
    p.add_argument("--blocks", type=int, default=200000,
                   help="live at most (default 200000)")
    p.add_argument("--threads", type=int, default=1,
                   help="1 to 64 (default 1); as they take turns at every call, "
                   "a replay of more takes hours")
    p.add_argument("--dir", default=os.environ.get("TMPDIR", "/var/tmp"),
                   help="for the files (default TMPDIR)")
    args = p.parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as work:
        recording = os.path.join(work, "recording")
        maker = os.path.join(args.build, "tests/fixture/mkrecording")
        subprocess.run([maker, recording, "--random", str(args.size << 20),
                        str(args.blocks), str(args.threads)], check=True,
                       stdout=subprocess.DEVNULL)
        command = os.path.join(args.build, "konfiscator")
        out, reader, player = watched(
            [command, "--format=json", "replay", recording],
            {**os.environ, "TMPDIR": work})
    row = json.loads(out)
    row = row[0] if isinstance(row, list) else row
    heap = row["peak_bytes"]
    beyond = max(player - heap, 0) + reader
    for name, size in (("recording", args.size << 20), ("heap", heap),
                       ("command", reader), ("replayer, with the heap", player),
                       ("beyond the heap", beyond)):
        print(f"{name:24} {size / (1 << 20):8.1f} MiB")
    return 0 if beyond <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
