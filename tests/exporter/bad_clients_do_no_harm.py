# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who sends too much, too slowly, half or too often is refused or cut off, and
others are served meanwhile."""

import http.client
import socket

import kftest


def connect(exporter):
    s = socket.create_connection(("127.0.0.1", exporter.port),
                                 timeout=kftest.PATIENCE)
    return s


def answer(s):
    """All that comes until the end of the connection."""
    got = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                return got
            got += piece
    except ConnectionError:
        return got


def served(exporter):
    return exporter.request()[0] == 200


def served_soon(exporter):
    """By one that cuts off who is slow, as this client may be."""
    def once():
        try:
            return served(exporter)
        except (OSError, http.client.HTTPException):
            return False
    kftest.until("others are served", once)


def a_huge_head_is_refused(world):
    exporter = world.exporter()
    for head in (b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: " +
                 b"a" * (1 << 20) + b"\r\n\r\n",
                 b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\nHost: x\r\n" +
                 b"X: y\r\n" * 100000 + b"\r\n"):
        s = connect(exporter)
        try:
            s.sendall(head)
        except ConnectionError:
            pass
        got = answer(s)
        assert b" 200 " not in got[:20], got[:80]
        s.close()
        assert served(exporter)


def halves_and_rubbish_are_let_go(world):
    exporter = world.exporter()
    for half in (b"", b"G", b"GET", b"GET /metrics HTTP/1.1\r\n",
                 b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n",
                 b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                 b"\0" * 1000, b"GET /metrics HTTP/9.9\r\n\r\n",
                 b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: "
                 b"99999999999999999999\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
                 b"\r\n\r\nffffffffffffffffff\r\n"):
        s = connect(exporter)
        s.sendall(half)
        s.shutdown(socket.SHUT_WR)
        answer(s)
        s.close()
        assert served(exporter)


def slow_clients_are_cut_off(world):
    exporter = world.exporter("--web.timeout=2s")
    slow = [connect(exporter) for _ in range(40)]
    for s in slow:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
    left = list(slow)

    def all_cut():
        """A byte of a header from each now and then, as slowloris does."""
        for s in list(left):
            try:
                s.sendall(b"a")
                s.setblocking(False)
                if s.recv(1) == b"":
                    left.remove(s)
            except BlockingIOError:
                pass
            except OSError:
                left.remove(s)
            finally:
                s.settimeout(kftest.PATIENCE)
        served_soon(exporter)
        return not left
    kftest.until("all are cut off", all_cut)
    # one who takes no answer: there is more of it than sockets hold
    sleeper = world.sleeper()
    world.stats_file("s", pid=sleeper.pid)
    s = connect(exporter)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 2000

    def cut():
        try:
            s.setblocking(False)
            s.send(request)
        except BlockingIOError:
            pass
        except OSError:
            return True
        finally:
            s.settimeout(kftest.PATIENCE)
        return False
    kftest.until("who takes nothing is cut off", cut)
    served_soon(exporter)


def too_many_requests_wait(world):
    exporter = world.exporter("--web.max-rate=1")
    codes = [exporter.request()[0] for _ in range(20)]
    assert 200 in codes and 429 in codes and set(codes) == {200, 429}, codes
    kftest.until("served again", lambda: served(exporter))


kftest.main(
    a_huge_head_is_refused,
    halves_and_rubbish_are_let_go,
    slow_clients_are_cut_off,
    too_many_requests_wait,
)
