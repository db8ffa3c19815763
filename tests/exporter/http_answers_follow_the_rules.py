# SPDX-License-Identifier: LGPL-2.1-or-later
"""Methods, paths, headers, content negotiation and limits of the HTTP side."""

import http.client
import json
import os
import socket
import threading

import kftest

CLASSIC = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OPENMETRICS_2 = OPENMETRICS.replace("1.0.0", "2.0.0")
PROTOBUF = ("application/vnd.google.protobuf; "
            "proto=io.prometheus.client.MetricFamily; encoding=delimited")
PROMETHEUS = ("application/openmetrics-text;version=1.0.0,"
              "application/openmetrics-text;version=0.0.1;q=0.75,"
              "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")

ACCEPTS = [
    (None, CLASSIC),
    ("", CLASSIC),
    ("*/*", CLASSIC),
    ("text/plain", CLASSIC),
    ("text/html", CLASSIC),
    (PROMETHEUS, OPENMETRICS),
    ("application/openmetrics-text", OPENMETRICS),
    ("APPLICATION/OpenMetrics-Text ; Version=1.0.0 ; Q=1", OPENMETRICS),
    ("application/openmetrics-text; version=2.0.0", OPENMETRICS_2),
    ("application/openmetrics-text; version=2.0.0," + PROMETHEUS, OPENMETRICS),
    ("application/openmetrics-text; version=2.0.0,"
     "application/openmetrics-text; version=1.0.0;q=0.9", OPENMETRICS_2),
    ("application/openmetrics-text; version=3.0.0", CLASSIC),
    ("application/openmetrics-text;q=0", CLASSIC),
    ("application/openmetrics-text;q=0.3,text/plain;q=0.4", CLASSIC),
    ("application/openmetrics-text;q=0.4,text/plain;q=0.3", OPENMETRICS),
    ("application/openmetrics-text,text/plain", CLASSIC),
    ("application/openmetrics-text,*/*", OPENMETRICS),
    ("application/*;q=0.9,text/*;q=0.8", OPENMETRICS),
    ("text/plain;q=0,*/*", OPENMETRICS),
    ("application/openmetrics-text;q=x,text/plain;q=0.1", CLASSIC),
    (";;;,,q=,/;=;q", CLASSIC),
    ("application/openmetrics-text;" + ";" * 5000, OPENMETRICS),
    (PROTOBUF, PROTOBUF),
    (PROTOBUF.upper() + ";Q=0.1", PROTOBUF),
    (PROTOBUF + ";escaping=allow-utf-8;q=0.6," + PROMETHEUS, OPENMETRICS),
    (PROTOBUF + ";q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,"
     "text/plain;version=0.0.4;q=0.3,*/*;q=0.2", PROTOBUF),
    (PROTOBUF + ";q=0.3,text/plain;q=0.4", CLASSIC),
    (PROTOBUF + ";q=0,*/*;q=0.1", CLASSIC),
    (PROTOBUF + ",*/*", PROTOBUF),
    (PROTOBUF.replace("delimited", "text"), CLASSIC),
    (PROTOBUF.replace("MetricFamily", "Another"), CLASSIC),
    ("application/vnd.google.protobuf", CLASSIC),
    ("application/*", OPENMETRICS),
]


def the_format_is_the_one_asked_for(world):
    exporter = world.exporter()
    for accept, wanted in ACCEPTS:
        headers = {} if accept is None else {"Accept": accept}
        status, got, body = exporter.request(**headers)
        assert status == 200, accept
        assert got["Content-Type"] == wanted, (accept, got["Content-Type"])
        assert body.endswith(b"# EOF\n") == (
            wanted in (OPENMETRICS, OPENMETRICS_2)), accept


def headers_of_one_name_are_one_list(world):
    """As if their values were in one header, with commas between."""
    exporter = world.exporter()
    for headers, wanted in (
            ((("Accept", "text/html"), ("accept", OPENMETRICS)), OPENMETRICS),
            ((("Accept", CLASSIC + ";q=0.1"), ("Accept", "image/*;q=0.5"),
              ("ACCEPT", PROTOBUF)), PROTOBUF),
            ((("Accept", OPENMETRICS + ";q=0.2"),
              ("Accept", CLASSIC + ";q=0.3")), CLASSIC)):
        c = http.client.HTTPConnection("127.0.0.1", exporter.port,
                                       timeout=kftest.PATIENCE)
        c.putrequest("GET", "/metrics", skip_accept_encoding=True)
        for name, value in (*headers, ("Accept-Encoding", "br"),
                            ("accept-encoding", "gzip;q=0.5")):
            c.putheader(name, value)
        c.endheaders()
        answer = c.getresponse()
        assert answer.headers["Content-Type"] == wanted, (headers, answer)
        assert answer.headers["Content-Encoding"] == "gzip", headers
        c.close()


def every_path_and_method_has_its_answer(world):
    exporter = world.exporter("--web.telemetry-path=/numbers")
    for path, wanted in (("/", 200), ("/numbers", 200), ("/-/healthy", 200),
                         ("/-/ready", 200), ("/metrics", 404),
                         ("/numbers/", 404), ("/%00", 404), ("//", 404)):
        status, headers, body = exporter.request(path)
        assert status == wanted, (path, status)
        assert headers["Content-Type"] and body, path
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert exporter.request(path, "HEAD")[::2] == (wanted, b""), path
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
            status, headers, _ = exporter.request(path, method)
            assert status == 405 and headers["Allow"] == "GET, HEAD", method
    page = kftest.Page(exporter.request("/numbers")[2].decode())
    total = "konfiscator_http_requests_total"
    assert page.get(total, handler="metrics", code="200") == 2
    assert page.get(total, handler="metrics", code="405") == 5
    assert page.get(total, handler="other", code="404") == 8


def a_scrape_has_the_collectors_that_are_asked_for(world):
    exporter = world.exporter("--no-collector.tags")

    def have(query):
        status, _, body = exporter.request("/metrics" + query)
        assert status == 200, (query, status, body)
        return kftest.Page(body.decode()).label_values(
            "konfiscator_scrape_collector_success", "collector")
    all = have("")
    assert all > {"stats", "resident", "cgroup", "exporter"}
    assert have("?") == have("?x=y&collect=stats") == all
    assert have("?collect[]=stats") == {"stats"}
    assert have("?collect[]=stats&x&collect%5b%5D=exporter") == {
        "stats", "exporter"}
    assert have("?exclude[]=stats&exclude%5B%5D=cgroup") == \
        all - {"stats", "cgroup"}
    for query in ("?collect[]=", "?collect[]", "?collect[]=none",
                  "?collect[]=tags", "?collect[]=stats&exclude[]=cgroup",
                  "?exclude[]=<b>&collect[]=stats", "?exclude[]=STATS"):
        status, _, body = exporter.request("/metrics" + query)
        assert status == 400 and body.count(b"\n") == 1, (query, status, body)
        assert b"stats, resident" in body and b"<b>" not in body
    page = exporter.scrape()
    assert page.get("konfiscator_http_requests_total", code="400") == 7


def names_on_the_page_are_escaped(world):
    process = world.sleeper()
    world.stats_file("a", pid=process.pid,
                     name="<script>alert('1')</script>&\"")
    _, headers, body = world.exporter().request("/")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"&#60;script&#62;alert(&#39;1&#39;)" in body
    assert b"<script>" not in body and b'href="/metrics"' in body


def hold_a_scrape(world, *flags):
    """An exporter with a procfs in which the memory of a process takes its time
    once the exporter's own clock has looked at it."""
    process = world.sleeper()
    world.stats_file("a", pid=process.pid, blocks="16:1:0")
    proc = world.path("proc")
    os.makedirs(os.path.join(proc, str(process.pid)))
    for name in ("stat", "statm", "status", "ns", "maps", "cgroup"):
        os.symlink("/proc/%d/%s" % (process.pid, name),
                   os.path.join(proc, str(process.pid), name))
    os.symlink(os.readlink("/proc/%d/exe" % process.pid),
               os.path.join(proc, str(process.pid), "exe"))
    os.symlink("/proc/self", os.path.join(proc, "self"))
    os.symlink("/proc/sys", os.path.join(proc, "sys"))
    statm = os.path.join(proc, str(process.pid), "statm")
    exporter = world.exporter("--path.procfs=" + proc, "--history.every=1h",
                              *flags)
    kftest.until("a moment", lambda: json.loads(exporter.request(
        "/api/v1/history")[2])["time"])
    os.unlink(statm)
    os.mkfifo(statm)
    return exporter, statm


def once_read(fifo):
    """Open a FIFO that somebody reads: the scrape is inside then."""
    def attempt():
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return 0
    return kftest.until("a reader of the FIFO", attempt)


def scrapes_beyond_the_limit_get_503(world):
    exporter, statm = hold_a_scrape(world, "--web.max-requests=1")
    answers = []
    first = threading.Thread(
        target=lambda: answers.append(exporter.request()[0]))
    first.start()
    writer = once_read(statm)
    status, headers, _ = exporter.request()
    assert status == 503 and headers["Retry-After"]
    assert exporter.request("/-/healthy")[0] == 200
    os.write(writer, b"1 1 1 1 0 1 0\n")
    os.close(writer)
    first.join()
    assert answers == [200]


def a_late_scrape_serves_what_is_ready(world):
    exporter, statm = hold_a_scrape(world)
    first = threading.Thread(target=exporter.request)
    first.start()
    writer = once_read(statm)
    page = exporter.scrape(X_Prometheus_Scrape_Timeout_Seconds="0.2")
    success = "konfiscator_scrape_collector_success"
    assert page.get(success, collector="stats") == 0
    assert "konfiscator_malloc_total" not in page.text
    os.write(writer, b"1 1 1 1 0 1 0\n")
    os.close(writer)
    first.join()


def a_connection_that_says_nothing_hinders_nobody(world):
    exporter = world.exporter()
    silent = [socket.create_connection(("127.0.0.1", exporter.port))
              for _ in range(20)]
    silent[0].sendall(b"GET /metr")
    assert exporter.request()[0] == 200
    # it is closed before long, not kept
    silent[0].settimeout(kftest.PATIENCE)
    rest = b"".join(iter(lambda: silent[0].recv(4096), b""))
    assert b"200" not in rest
    for connection in silent:
        connection.close()


def a_header_without_end_is_refused(world):
    exporter = world.exporter()
    with socket.create_connection(("127.0.0.1", exporter.port)) as s:
        s.settimeout(kftest.PATIENCE)
        answer = b""
        try:
            s.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * (1 << 20))
            answer = s.recv(4096)
        except ConnectionError:
            pass
        assert b" 200 " not in answer
    assert exporter.request()[0] == 200


kftest.main(
    the_format_is_the_one_asked_for,
    headers_of_one_name_are_one_list,
    every_path_and_method_has_its_answer,
    a_scrape_has_the_collectors_that_are_asked_for,
    names_on_the_page_are_escaped,
    scrapes_beyond_the_limit_get_503,
    a_late_scrape_serves_what_is_ready,
    a_connection_that_says_nothing_hinders_nobody,
    a_header_without_end_is_refused,
)
