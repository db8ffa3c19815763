# SPDX-License-Identifier: LGPL-2.1-or-later
"""TLS, client certificates and passwords as the web configuration has them:
the wrong ones are refused, others are served meanwhile, and a real Prometheus
comes in."""

import base64
import gzip
import http.client
import json
import os
import ssl
import subprocess
import time
import urllib.parse
import urllib.request

import kftest

# bcrypt of "right", cost 5
HASH = "$2b$05$konfiscatorkonfiscatoueiHXXP269BCs7HzQBjp6DDsAEI7wpVa"


def openssl(*args):
    subprocess.run([kftest.need("openssl"), *args], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_ca(world, name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=" + name, "-keyout", world.path(name + ".key"),
            "-out", world.path(name + ".crt"))


def make_cert(world, ca, name, usage):
    with open(world.path("ext"), "w") as f:
        f.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n"
                "extendedKeyUsage=%s\n" % usage)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-subj", "/CN=" + name, "-keyout",
            world.path(name + ".key"), "-out", world.path(name + ".csr"))
    openssl("x509", "-req", "-in", world.path(name + ".csr"), "-CA",
            world.path(ca + ".crt"), "-CAkey", world.path(ca + ".key"),
            "-CAcreateserial", "-days", "2", "-extfile", world.path("ext"),
            "-out", world.path(name + ".crt"))


def config(world, text):
    path = world.path("web.yml")
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)
    return "--web.config.file=" + path


TLS = """
tls_server_config:
  cert_file: server.crt
  key_file: server.key
"""
MUTUAL = TLS + """
  client_ca_file: ca.crt
  client_auth_type: RequireAndVerifyClientCert
"""
USERS = """
basic_auth_users:
  alice: %s
""" % HASH


def client(world, cert=None, ca="ca", version=None):
    context = ssl.create_default_context(cafile=world.path(ca + ".crt"))
    if cert:
        context.load_cert_chain(world.path(cert + ".crt"),
                                world.path(cert + ".key"))
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def basic(user, password):
    text = base64.b64encode(("%s:%s" % (user, password)).encode()).decode()
    return {"Authorization": "Basic " + text}


def get(exporter, context, path="/metrics", **headers):
    """Status and body; an OSError where TLS fails."""
    c = http.client.HTTPSConnection("127.0.0.1", exporter.port,
                                    context=context, timeout=kftest.PATIENCE)
    try:
        c.request("GET", path, headers=headers)
        r = c.getresponse()
        return r.status, r.read()
    finally:
        c.close()


def refused(exporter, context):
    try:
        get(exporter, context)
    except (OSError, http.client.HTTPException):
        return True
    return False


def passwords_are_checked(world):
    exporter = world.exporter(config(world, USERS))
    for path in ("/", "/metrics", "/-/healthy", "/secret"):
        status, headers, body = exporter.request(path)
        assert status == 401 and body == b"unauthorized\n", (path, status)
        assert headers["WWW-Authenticate"].startswith("Basic realm=")
    for user, password in (("alice", "wrong"), ("alice", ""),
                           ("", "right"), ("bob", "right"),
                           ("alice", "right "), ("alice", "r" * 3000)):
        assert exporter.request(**basic(user, password))[0] == 401, user
    for junk in ("Basic", "Basic !!!", "Basic YWxpY2U=", "Bearer right",
                 "Basic " + "A" * 9000):
        assert exporter.request(Authorization=junk)[0] == 401, junk
    for _ in range(3):
        assert exporter.request(**basic("alice", "right"))[0] == 200
    # what was remembered for one is not for another
    assert exporter.request(**basic("alice", "wrong"))[0] == 401
    page = kftest.Page(exporter.request(**basic("alice", "right"))[2].decode())
    assert page.get("konfiscator_http_requests_total", handler="metrics",
                    code="401") >= 12


def a_changed_configuration_counts_at_once(world):
    exporter = world.exporter(config(world, USERS))
    assert exporter.request(**basic("alice", "right"))[0] == 200
    config(world, USERS.replace("alice", "carol"))
    assert exporter.request(**basic("alice", "right"))[0] == 401
    assert exporter.request(**basic("carol", "right"))[0] == 200
    config(world, "basic_auth_users: [")
    assert exporter.request(**basic("carol", "right"))[0] == 500
    os.unlink(world.path("web.yml"))
    assert exporter.request(**basic("carol", "right"))[0] == 500
    config(world, "http_server_config:\n  headers:\n"
           "    X-Frame-Options: deny\n    X-Content-Type-Options: ''\n")
    status, headers, _ = exporter.request()
    assert status == 200 and headers["X-Frame-Options"] == "deny"
    assert "X-Content-Type-Options" not in headers
    # TLS is not switched by a change of the file: nobody comes in without
    config(world, TLS)
    assert exporter.request()[0] == 500


def mistakes_in_the_file_are_named(world):
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth")
    make_cert(world, "ca", "other", "serverAuth")
    for text, wanted in (
            ("nonsense: 1", 'web.yml:1: unknown key "nonsense"'),
            (USERS + "  alice: x", "user alice is there twice"),
            ("basic_auth_users: {bob: secret}",
             "user bob: the password is not a bcrypt hash"),
            ("tls_server_config: {cert_file: x}", "missing key_file"),
            ("tls_server_config: {key_file: x}", "missing cert_file"),
            ("tls_server_config:", "missing cert_file"),
            (TLS + "  min_version: SSL3", "unknown TLS version: SSL3"),
            (TLS + "  min_version: TLS13\n  max_version: TLS12",
             "min_version is above max_version"),
            (TLS + "  client_auth_type: Perhaps",
             "invalid client auth type: Perhaps"),
            (TLS + "  client_ca_file: ca.crt", "without a client auth policy"),
            (TLS + "  client_auth_type: RequireAndVerifyClientCert",
             "needs client_ca_file"),
            (TLS.replace("server.key", "missing.key"), "missing.key"),
            (TLS.replace("server.key", "other.key"), "other.key"),
            ("http_server_config: {headers: {Server: x}}",
             'HTTP header "Server" can not be configured'),
            ("a: &x [1]\nb: *x", "aliases are not allowed"),
            ("- list", "keys with values are wanted")):
        result = subprocess.run(
            [kftest.EXPORTER, "--web.listen-address=127.0.0.1:0",
             "--stats.state-file=", config(world, text)],
            capture_output=True, text=True, timeout=kftest.PATIENCE)
        assert result.returncode == 1, text
        lines = [line for line in result.stderr.split("\n")
                 if line.startswith("konfiscator_exporter: ")]
        assert len(lines) == 1 and wanted in lines[0], (text, result.stderr)
        assert "secret" not in result.stderr


def tls_is_served_and_a_new_certificate_taken(world):
    make_ca(world, "ca")
    make_ca(world, "stranger")
    make_cert(world, "ca", "server", "serverAuth")
    exporter = world.exporter(config(world, TLS + "  min_version: TLS13"))
    assert get(exporter, client(world))[0] == 200
    assert refused(exporter, client(world, ca="stranger"))
    assert refused(exporter, client(world, version=ssl.TLSVersion.TLSv1_2))
    try:
        status = exporter.request()[0]
    except (OSError, http.client.HTTPException):
        status = None
    assert status is None, "plain text on a TLS port"
    for name in ("ca", "stranger"):
        os.rename(world.path(name + ".crt"), world.path(name + ".old"))
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth")
    assert get(exporter, client(world))[0] == 200
    # half a change: the last good pair stays
    with open(world.path("server.key"), "w") as f:
        f.write("no key")
    assert get(exporter, client(world))[0] == 200
    exporter.says("certificate stays the old one")


def wrong_client_certificates_are_refused(world):
    make_ca(world, "ca")
    make_ca(world, "stranger")
    make_cert(world, "ca", "server", "serverAuth")
    make_cert(world, "ca", "friend", "clientAuth")
    make_cert(world, "ca", "misused", "serverAuth")
    make_cert(world, "stranger", "enemy", "clientAuth")
    exporter = world.exporter(config(world, MUTUAL))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert get(exporter, client(world, "friend", version=version))[0] == 200
        for cert in (None, "enemy", "misused"):
            assert refused(exporter, client(world, cert, version=version)), (
                version, cert)
    assert get(exporter, client(world, "friend"))[0] == 200
    exporter = world.exporter(config(world, MUTUAL.replace(
        "RequireAndVerifyClientCert", "VerifyClientCertIfGiven")))
    assert get(exporter, client(world))[0] == 200
    assert get(exporter, client(world, "friend"))[0] == 200
    assert refused(exporter, client(world, "enemy"))


def query(port, expression):
    url = "http://127.0.0.1:%d/api/v1/query?%s" % (
        port, urllib.parse.urlencode({"query": expression}))
    try:
        with urllib.request.urlopen(url, timeout=kftest.PATIENCE) as answer:
            return json.load(answer)["data"]["result"]
    except OSError:
        return []


def prometheus_comes_in_with_all_of_it(world):
    prometheus = kftest.need("prometheus")
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth")
    make_cert(world, "ca", "friend", "clientAuth")
    subprocess.run([kftest.need("promtool"), "check", "web-config",
                    config(world, MUTUAL + USERS).split("=", 1)[1]],
                   check=True)
    sleeper = world.sleeper()
    world.stats_file("s", pid=sleeper.pid, blocks="64:23:0")
    exporter = world.exporter(config(world, MUTUAL + USERS))
    with open(world.path("prometheus.yml"), "w") as f:
        f.write("""
global: {scrape_interval: 1s}
scrape_configs:
- job_name: konfiscator
  scheme: https
  tls_config: {ca_file: ca.crt, cert_file: friend.crt, key_file: friend.key}
  basic_auth: {username: alice, password: right}
  static_configs: [{targets: ['127.0.0.1:%d']}]
""" % exporter.port)
    port = kftest.free_port()
    with open(world.path("log"), "w") as log:
        world.run(prometheus, "--config.file=" + world.path("prometheus.yml"),
                  "--storage.tsdb.path=" + world.path("tsdb"),
                  "--web.listen-address=127.0.0.1:%d" % port,
                  stdout=log, stderr=log)
    kftest.until("the count in Prometheus", lambda: [
        r for r in query(port, "konfiscator_malloc_total")
        if r["value"][1] == "23"])
    # that one asks for gzip and OpenMetrics; here is what it gets
    body = get(exporter, client(world, "friend"), **basic("alice", "right"),
               **{"Accept-Encoding": "gzip", "Accept": kftest.OPENMETRICS})[1]
    assert gzip.decompress(body).endswith(b"# EOF\n")


def guesses_take_as_long_for_any_user(world):
    """Not a measurement of time: an unknown user costs a bcrypt, too."""
    costly = HASH.replace("$05$", "$10$")
    exporter = world.exporter(config(world, USERS.replace(HASH, costly)))

    def cost(user):
        with open("/proc/%d/stat" % exporter.process.pid) as f:
            before = int(f.read().split()[13])
        start = time.monotonic()
        for i in range(4):
            assert exporter.request(**basic(user, "guess%d" % i))[0] == 401
        with open("/proc/%d/stat" % exporter.process.pid) as f:
            return int(f.read().split()[13]) - before, time.monotonic() - start
    known, unknown = cost("alice"), cost("mallory")
    assert unknown[0] > known[0] / 3, (known, unknown)


kftest.main(
    passwords_are_checked,
    a_changed_configuration_counts_at_once,
    mistakes_in_the_file_are_named,
    tls_is_served_and_a_new_certificate_taken,
    wrong_client_certificates_are_refused,
    prometheus_comes_in_with_all_of_it,
    guesses_take_as_long_for_any_user,
)
