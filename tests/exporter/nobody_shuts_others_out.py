# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that hold connections with halves of requests, or guess passwords, take
nothing from others."""

import http.client
import socket
import threading
import time

import kftest
from kfweb import USERS, basic, config


class Holder:
    """Holds connections, and sends a byte of a header to each all the time."""

    def __init__(self, exporter, nr, reconnect=False):
        self.exporter = exporter
        self.reconnect = reconnect
        self.over = False
        self.held = [s for s in (self.connect() for _ in range(nr)) if s]
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def connect(self):
        try:
            s = socket.create_connection(("127.0.0.1", self.exporter.port),
                                         timeout=kftest.PATIENCE)
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: ")
            s.setblocking(False)
            return s
        except OSError:
            return None

    @staticmethod
    def alive(s):
        try:
            s.send(b"a")
            return s.recv(1) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def run(self):
        while not self.over:
            for i, s in enumerate(self.held):
                if s and not self.alive(s):
                    s.close()
                    self.held[i] = self.connect() if self.reconnect else None
            time.sleep(0.2)

    def end(self):
        self.over = True
        self.thread.join()
        for s in self.held:
            if s:
                s.close()


def halves_of_requests_shut_nobody_out(world):
    # the exporter's own patience is not what helps here
    exporter = world.exporter("--web.timeout=1d")
    holder = Holder(exporter, 400)
    try:
        for _ in range(50):
            assert exporter.request()[0] == 200
        kftest.until("they are few", lambda: sum(
            s is not None for s in holder.held) <= 128)
    finally:
        holder.end()
    exporter.says("too many connections: closing those that wait longest")
    assert exporter.log.count("too many connections") == 1, exporter.log


def who_comes_again_shuts_nobody_out(world):
    exporter = world.exporter("--web.timeout=1d")
    holder = Holder(exporter, 300, reconnect=True)

    def served():
        """Where it is cut off it was too slow, and tries again."""
        try:
            return exporter.request()[0] == 200
        except (OSError, http.client.HTTPException):
            return False
    try:
        for _ in range(20):
            kftest.until("served", served)
    finally:
        holder.end()


def who_guesses_has_to_wait(world):
    exporter = world.exporter(config(world, USERS),
                              "--web.max-wrong-passwords=5")
    right, wrong = basic("alice", "right"), basic("alice", "wrong")
    assert exporter.request(**right)[0] == 200
    codes = [exporter.request(**wrong)[0] for _ in range(5)]
    assert codes == [401] * 5, codes
    for user in ("alice", "bob"):
        status, headers, body = exporter.request(**basic(user, "guess"))
        assert status == 429 and body == b"too many wrong passwords\n", status
        assert headers["Retry-After"] == "12"
    # who was let in before is no guesser, and nothing is no guess
    assert exporter.request(**right)[0] == 200
    assert exporter.request()[0] == 401


def there_is_a_limit_unless_it_is_set_to_none(world):
    exporter = world.exporter(config(world, USERS))
    codes = [exporter.request(**basic("alice", "wrong"))[0]
             for _ in range(30)]
    assert codes[:10] == [401] * 10 and 429 in codes, codes
    exporter = world.exporter(config(world, USERS),
                              "--web.max-wrong-passwords=0")
    codes = [exporter.request(**basic("alice", "wrong"))[0]
             for _ in range(30)]
    assert codes == [401] * 30, codes


kftest.main(
    halves_of_requests_shut_nobody_out,
    who_comes_again_shuts_nobody_out,
    who_guesses_has_to_wait,
    there_is_a_limit_unless_it_is_set_to_none,
)
