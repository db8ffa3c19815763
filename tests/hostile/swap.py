# SPDX-License-Identifier: LGPL-2.1-or-later
"""swap.py HOME FILE USER: as USER, a number, make HOME/stats a directory, then a
link to what HOME/link says, then the directory again, for as long as this runs.
The directory has a copy of FILE, x.1.1, which is made again where it goes."""

import contextlib
import os
import sys

with open(sys.argv[2], "rb") as f:
    content = f.read()
os.chdir(sys.argv[1])
os.setgroups([])
os.setresgid(*[int(sys.argv[3])] * 3)
os.setresuid(*[int(sys.argv[3])] * 3)
print("swapping", flush=True)
while True:
    if not os.path.exists("stats/x.1.1"):
        with open("stats/new", "wb") as f:
            f.write(content)
        # What finds it under this name may take it for a file that ended.
        with contextlib.suppress(FileNotFoundError):
            os.rename("stats/new", "stats/x.1.1")
    os.rename("stats", "aside")
    os.rename("link", "stats")
    os.rename("stats", "link")
    os.rename("aside", "stats")
