# SPDX-License-Identifier: LGPL-2.1-or-later
"""shapes.py: calls of every shape that allocate a block of a size of its own and
keep it. For each a line "BYTES FUNCTION:FILE:LINE ..." with the frames, the
innermost first, as Python itself has them; then "ready". Ends with its input."""

import asyncio
import functools
import os
import sys
import threading

PAGE = 4096
kept = []
said = []
lock = threading.Lock()
count = [0]


def frames(f):
    names = []
    while f is not None:
        code = f.f_code
        name = getattr(code, "co_qualname", code.co_name)
        names.append("%s:%s:%d" % (name, os.path.basename(code.co_filename),
                                   f.f_lineno))
        f = f.f_back
    return names


def size():
    with lock:
        count[0] += 1
        return (300 + count[0]) * PAGE


def leaf():
    n = size()
    kept.append(bytearray(n - 64)); said.append((n, frames(sys._getframe())))


def nested(n):
    if n:
        return nested(n - 1)
    return leaf()


def generator():
    for _ in range(2):
        leaf()
        yield 1


def outer_generator():
    yield from generator()


def key(x):
    leaf()
    return -x


class Made:
    def __init__(self):
        leaf()

    def __getattr__(self, name):
        leaf()
        return 1

    @property
    def read(self):
        leaf()
        return 1

    @classmethod
    def of_class(cls):
        return [leaf() for _ in range(1)]

    def __enter__(self):
        leaf()

    def __exit__(self, *args):
        leaf()


def raising():
    try:
        1 / 0
    except ZeroDivisionError:
        leaf()
    finally:
        leaf()


async def inner():
    leaf()
    await asyncio.sleep(0)
    leaf()


async def outer():
    await asyncio.gather(inner(), inner())


def many_lines():
    x = 1

    # comments, and a call
    # of several lines
    leaf(
    )
    if x:
        for i in range(1):
            (lambda: leaf())()


leaf()
nested(3)
nested(120)
list(generator())
sum(outer_generator())
sorted([3], key=key)
list(map(key, [1]))
functools.reduce(lambda a, b: key(a), [1, 2])
functools.partial(key, 2)()
made = Made()
made.something
made.read
Made.of_class()
with made:
    pass


class Body:
    leaf()


raising()
asyncio.run(outer())
many_lines()
exec(compile("def made_of_text():\n    leaf()\n\n\nmade_of_text()\n",
             "<made>", "exec"))
eval("leaf()")
exec(compile("def \u00fcber_\u65e5\u672c():\n\n    leaf()\n\u00fcber_\u65e5\u672c()\n",
             "/tmp/\u65e5\u672c/\u00fc.py", "exec"))
threads = [threading.Thread(target=nested, args=(n,)) for n in (0, 30)]
for t in threads:
    t.start()
for t in threads:
    t.join()
sys.stdout.reconfigure(encoding="utf-8") \
    if hasattr(sys.stdout, "reconfigure") else None
for n, names in said:
    print(n, " ".join(names))
print("ready", flush=True)
sys.stdin.read()
