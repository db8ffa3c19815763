# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where standard error takes nothing for a time, what comes later is said, with
the number of lines that were lost."""

import http.client
import os
import re

import kftest
from kfweb import USERS, config


def what_comes_after_a_full_pipe_is_said(world):
    out, into = os.pipe()
    os.set_blocking(into, False)  # the exporter's too: it is the same pipe
    os.set_blocking(out, False)
    world.run(kftest.EXPORTER, "--web.listen-address=127.0.0.1:0",
              "--stats.state-file=", "--stats.dir=" + world.stats,
              config(world, USERS), stderr=into)
    log = b""

    def read():
        nonlocal log
        try:
            log += os.read(out, 65536)
        except BlockingIOError:
            pass
        return re.search(rb'msg=listening.*:(\d+)\b', log)
    port = int(kftest.until("listening", read)[1])

    def status():
        c = http.client.HTTPConnection("127.0.0.1", port,
                                       timeout=kftest.PATIENCE)
        c.request("GET", "/metrics")
        status = c.getresponse().status
        c.close()
        return status

    def fill():
        for size in (4096, 1):
            try:
                while True:
                    os.write(into, b"x" * size)
            except BlockingIOError:
                pass
    fill()
    for text in ("nonsense", "more: nonsense"):
        config(world, text)
        assert status() == 500
    try:
        while True:
            assert b"nonsense" not in os.read(out, 65536)
    except BlockingIOError:
        pass
    log = b""
    config(world, "yet_more: nonsense")
    assert status() == 500
    kftest.until("a line", lambda: read() or log.endswith(b"\n"))
    assert b"yet_more" in log and b"lost_lines=2\n" in log, log
    log = b""
    config(world, "and_more: nonsense")
    assert status() == 500
    kftest.until("a line", lambda: read() or log.endswith(b"\n"))
    assert b"and_more" in log and b"lost_lines" not in log, log
    os.close(out)
    os.close(into)


kftest.main(what_comes_after_a_full_pipe_is_said)
