# SPDX-License-Identifier: LGPL-2.1-or-later
"""order.py FILE BYTES TIMES: write BYTES, in Python's notation and so often, as
an order into a stats file, and print the result and the reply."""
import ast
import struct
import sys
import time

TEXT, REPLY = 744, 256
text = ast.literal_eval("b'" + sys.argv[2] + "'") * int(sys.argv[3])
with open(sys.argv[1], "r+b", buffering=0) as file:
    # The sections' places follow 32 bytes of the header; it is the fifth.
    file.seek(32 + 4 * 16)
    (at,) = struct.unpack("<I", file.read(4))
    file.seek(at)
    request, answer = struct.unpack("<2Q", file.read(16))
    file.seek(at + 24)
    file.write(text[:TEXT].ljust(TEXT, b"\0"))
    file.seek(at)
    file.write(struct.pack("<Q", request + 1))
    end = time.monotonic() + 60
    while answer != request + 1:
        if time.monotonic() > end:
            sys.exit("no answer in 60 s")
        time.sleep(0.01)
        file.seek(at + 8)
        answer = struct.unpack("<Q", file.read(8))[0]
    result = struct.unpack("<I", file.read(4))[0]
    file.seek(at + 24 + TEXT)
    reply = file.read(REPLY)
    print(result, reply[: reply.index(0)].decode())
