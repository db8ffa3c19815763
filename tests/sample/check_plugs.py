# SPDX-License-Identifier: LGPL-2.1-or-later
"""check_plugs.py REPORT LEAST: compare the names in the stacks of plugs.c with
the calls that the size of each stack's blocks stands for, frame by frame.

REPORT is JSON. A frame has its own name or none. At least LEAST blocks must
have stacks in which all calls from down() on have names.
"""
import json
import sys

PAGE, FIRST, CODES = 4096, 16, 1024
OBJECTS = "ABCDEFGH"
KINDS = ("one", "two")
DEPTHS = (0, 3, 21, 60)


def chain(code):
    """The calls that make a block of FIRST + code pages, with their files."""
    code, last = divmod(code, len(KINDS))
    code, inner = divmod(code, len(OBJECTS))
    code, first = divmod(code, len(KINDS))
    depth, outer = divmod(code, len(OBJECTS))
    yield from [("down", "plugs")] * (DEPTHS[depth] + 1)
    yield f"{OBJECTS[outer]}_{KINDS[first]}", f"{OBJECTS[outer]}.so"
    yield "back", "plugs"
    yield f"{OBJECTS[inner]}_{KINDS[last]}", f"{OBJECTS[inner]}.so"


def is_nameless(frame):
    return frame["function"].startswith("0x") or "+0x" in frame["function"]


def is_right(frame, function, file):
    if is_nameless(frame):
        return frame["library"] in (file, "?")
    return frame["function"] == function and frame["library"] == file


def check(calls, size):
    """Whether all calls have names; ends the program if one is wrong."""
    said = f"blocks of {size} bytes: " + ";".join(
        frame["function"] for frame in calls)
    pages = size / PAGE - FIRST
    if pages not in range(CODES):
        # without names, calls of several objects may look the same
        if all(f["function"] in ("down", "back") or
               is_nameless(f) and f["library"] == "?" for f in calls):
            return False
        sys.exit(f"no calls make {said}")
    want = list(chain(int(pages)))
    if len(want) != len(calls):
        sys.exit(f"not {len(want)} calls: {said}")
    for frame, call in zip(calls, want):
        if not is_right(frame, *call):
            sys.exit(f"{frame} instead of {call}: {said}")
    return not any(map(is_nameless, calls))


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        sites = json.load(f)["sites"]
    named = nameless = other = 0
    names = set()
    for site in sites:
        calls = site["frames"][::-1]
        functions = [frame["function"] for frame in calls]
        if "down" not in functions:
            other += site["samples"]
            continue
        calls = calls[functions.index("down"):]
        if check(calls, site["alloc"] / site["count"]):
            named += site["samples"]
            names.update((functions[-1], functions[-3]))
        else:
            nameless += site["samples"]
    print(f"{named} blocks with all names, of {len(names)} functions in objects; "
          f"{nameless} with calls without names; {other} others")
    if named < int(sys.argv[2]) or len(names) != len(KINDS) * len(OBJECTS):
        sys.exit("too few names to compare")


main()
