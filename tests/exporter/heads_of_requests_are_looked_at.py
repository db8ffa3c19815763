# SPDX-License-Identifier: LGPL-2.1-or-later
"""A name in Host that is not known is refused to browsers, and to all clients over
the loopback; scrapers may use any name. A head that gives the length of its body
twice gets 400, and nothing behind it is answered."""

import re
import socket

import kftest

BROWSERS = (
    {"Accept_Language": "en"},
    {"Origin": "http://example.com:10170"},
    {"Referer": "http://example.com:10170/"},
    {"Cookie": "a=b"},
    {"Sec_Fetch_Site": "same-origin"},
    {"User_Agent": "Mozilla/5.0 (X11; Linux x86_64)"},
)
OURS = ("127.0.0.1", "127.0.0.1:1", "[::1]:10170", "192.0.2.7:80", "localhost",
        "LOCALHOST:10170", "localhost.:1", "a.localhost", "exporter:10170",
        "exporter.monitoring.svc.cluster.local:10170", "exporter.monitoring.svc",
        "host.docker.internal:10170", socket.gethostname() + ":10170")
OTHERS = ("example.com", "example.com:10170", "127.0.0.1.example.com",
          "localhost.example.com:10170", "evil.example:x",
          "xlocalhost.evil", "svc.example", "[example.com]",
          socket.gethostname() + ".example.com")


def other_names_are_refused_by_the_loopback(world):
    exporter = world.exporter()
    for path in ("/", "/metrics", "/-/healthy", "/none"):
        for host in OTHERS:
            status, _, body = exporter.request(path, Host=host)
            assert status == 421 and b"--web.allowed-hosts" in body, (
                path, host, status)
        for host in OURS:
            status = exporter.request(path, Host=host, **BROWSERS[0])[0]
            assert status == (404 if path == "/none" else 200), (host, status)
    page = exporter.scrape()
    assert page.get("konfiscator_http_requests_total", handler="metrics",
                    code="421") == len(OTHERS)


def names_can_be_allowed(world):
    exporter = world.exporter("--web.allowed-hosts=web1.example.com",
                              "--web.allowed-hosts=*.example.org")
    for host, wanted in (("web1.example.com", 200), ("WEB1.example.com:1", 200),
                         ("web2.example.com", 421), ("example.com", 421),
                         ("a.example.org", 200), ("a.b.example.org:9", 200),
                         ("example.org", 421), ("aexample.org", 421)):
        assert exporter.request(Host=host)[0] == wanted, host
    exporter = world.exporter("--web.allowed-hosts=*")
    for host in OTHERS:
        assert exporter.request(Host=host, **BROWSERS[0])[0] == 200, host


def own_address():
    """One that is not the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # sends nothing
            return s.getsockname()[0]
        except OSError:
            raise kftest.Skip("an address beside the loopback is missing")


def scrapers_come_under_any_name(world):
    address = own_address()
    exporter = world.exporter("--web.listen-address=%s:0" % address)
    port = int(kftest.until("it listens there", lambda: re.search(
        r"listening address=%s:(\d+)" % re.escape(address),
        exporter.log))[1])

    def status(host, **headers):
        lines = ["GET /metrics HTTP/1.1", "Host: " + host, "Connection: close"]
        lines += ["%s: %s" % (k.replace("_", "-"), v)
                  for k, v in headers.items()]
        with socket.create_connection((address, port),
                                      timeout=kftest.PATIENCE) as s:
            s.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return int(s.makefile("rb").readline().split()[1])
    for host in OTHERS + OURS:
        assert status(host) == 200, host
        assert status(host, User_Agent="Prometheus/2.42.0", Accept="*/*",
                      Accept_Encoding="gzip",
                      X_Prometheus_Scrape_Timeout_Seconds="10") == 200, host
    for headers in BROWSERS:
        for host in OTHERS:
            assert status(host, **headers) == 421, (host, headers)
        for host in OURS:
            assert status(host, **headers) == 200, (host, headers)


def raw(exporter, data):
    """All that comes until the end of the connection."""
    got = b""
    with socket.create_connection(("127.0.0.1", exporter.port),
                                  timeout=kftest.PATIENCE) as s:
        s.sendall(data)
        try:
            while True:
                piece = s.recv(65536)
                if not piece:
                    return got
                got += piece
        except ConnectionError:
            return got


def a_length_that_is_said_twice_is_refused(world):
    exporter = world.exporter()
    behind = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
    for method in (b"GET", b"POST"):
        for heads in (b"Content-Length: 5\r\nContent-Length: 5\r\n",
                      b"Content-Length: 0\r\ncontent-length: 38\r\n",
                      b"Content-Length: 38\r\nContent-Length: 0\r\n",
                      b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                      b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                      b"Transfer-Encoding: chunked\r\n"
                      b"Transfer-Encoding: identity\r\n",
                      b"Transfer-Encoding: xchunked\r\n",
                      b"Content-Length: 5, 5\r\n", b"Content-Length: +5\r\n",
                      b"Content-Length: 0x5\r\n", b"Content-Length: -1\r\n",
                      b"Host: y\r\n"):
            got = raw(exporter, method + b" /metrics HTTP/1.1\r\nHost: x\r\n" +
                      heads + b"\r\n" + behind)
            assert got.startswith(b"HTTP/1.1 400 "), (heads, got[:80])
            assert b"healthy" not in got, (heads, got)
    for heads in (b"", b"Content-Length: 0\r\n"):
        got = raw(exporter, b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + heads +
                  b"\r\n" + behind.replace(b"Host", b"Connection: close\r\nHost"))
        assert got.count(b"HTTP/1.1 200 ") == 2, (heads, got)


kftest.main(
    other_names_are_refused_by_the_loopback,
    names_can_be_allowed,
    scrapers_come_under_any_name,
    a_length_that_is_said_twice_is_refused,
)
