# SPDX-License-Identifier: LGPL-2.1-or-later
"""For gdb: run a program and compare the stacks of samples with gdb's.

Prints "compared N, shorter M": M are stacks of which gdb found only the inner
part. Each stack that differs is a line of its own. EVERY: stacks that are
passed over between two; MOST: stacks to compare.
"""
import os

import gdb

EVERY = int(os.environ["EVERY"])
MOST = int(os.environ["MOST"])
LIMIT = 256
CALL = 1 << 63  # of interpreted code, see src/stats/layout.h
counts = {"seen": 0, "same": 0, "shorter": 0}


def addresses(frame):
    """The return addresses of a frame and its callers.

    Frames that no call has made are left out: inlined ones, and those that gdb
    guesses where the last call of a function was a jump.
    """
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            yield frame.pc()
        try:
            frame = frame.older()
        except gdb.error:
            return


def symbol(address):
    return gdb.execute(f"info symbol {address:#x}", to_string=True).strip()


def is_evaluator(address):
    return symbol(address - 1).startswith("_PyEval_EvalFrameDefault")


def agree(ours, gdbs):
    """How many frames of each are the same. Calls of Python stand for a frame of
    the evaluator; where it calls itself there may be more of these."""
    i = j = 0
    while i < len(ours) and j < len(gdbs):
        if not ours[i] & CALL:
            if ours[i] != gdbs[j]:
                break
            i, j = i + 1, j + 1
            continue
        while i < len(ours) and ours[i] & CALL:
            i += 1
        j += 1
        while j < len(gdbs) and is_evaluator(gdbs[j]):
            j += 1
    return i, j


def compare(ours, gdbs):
    if not ours or ours[0] not in gdbs:
        print("differs: gdb does not have", [symbol(a) for a in ours[:1]])
        return
    gdbs = gdbs[gdbs.index(ours[0]):]
    i, j = agree(ours, gdbs)
    if i == len(ours) and (i == LIMIT or j == len(gdbs)):
        counts["same"] += 1
    elif j == len(gdbs):
        counts["shorter"] += 1
    else:
        print("differs: frame", i, "of", len(ours), "and", len(gdbs), "after",
              [symbol(a) for a in ours[max(i - 2, 0):i + 1]])


class Found(gdb.Breakpoint):
    def stop(self):
        counts["seen"] += 1
        if counts["seen"] % EVERY:
            return False
        frame = gdb.newest_frame()
        stack = frame.read_var("stack")
        ours = [int(stack["frame"][i]) for i in range(int(stack["nr"]))]
        compare(ours, list(addresses(frame)))
        return counts["same"] + counts["shorter"] >= MOST


for setting in ("pagination off", "confirm off", "backtrace past-main on",
                "backtrace past-entry on", "breakpoint pending on",
                "print thread-events off", "print inferior-events off"):
    gdb.execute("set " + setting)
Found("kf_table_find")
gdb.execute("run >/dev/null 2>&1")
print("compared", counts["same"], "shorter", counts["shorter"])
if gdb.selected_inferior().pid:
    gdb.execute("kill")
