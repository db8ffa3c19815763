# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""TLS, client certificates and passwords as the web configuration has them:
the wrong ones are refused, others are served meanwhile, and a real Prometheus
comes in."""

import http.client
import os
import socket
import ssl
import subprocess
import time

import kfprom
import kftest
import kfweb
from kfweb import (HASH, MUTUAL, TLS, USERS, basic, client, config, get,
                   make_all, make_ca, make_cert)


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
    for _ in range(3):
        assert exporter.request(**basic("carol", "right"))[0] == 500
    os.unlink(world.path("web.yml"))
    for _ in range(3):
        assert exporter.request(**basic("carol", "right"))[0] == 500
    exporter.says("No such file")
    assert exporter.log.count("web configuration has an error") == 2, exporter.log
    config(world, "http_server_config:\n  headers:\n"
           "    X-Frame-Options: deny\n    X-Content-Type-Options: ''\n")
    status, headers, _ = exporter.request()
    assert status == 200 and headers["X-Frame-Options"] == "deny"
    assert "X-Content-Type-Options" not in headers
    # TLS is not switched by a change of the file: nobody comes in without
    config(world, TLS)
    for _ in range(3):
        assert exporter.request()[0] == 500
    exporter.says("the use of TLS changes only by a restart")
    assert exporter.log.count("only by a restart") == 1, exporter.log
    config(world, "")
    assert exporter.request()[0] == 200


def mistakes_in_the_file_are_named(world):
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth")
    make_cert(world, "ca", "other", "serverAuth")
    for text, wanted in (
            ("nonsense: 1", 'web.yml:1: unknown key "nonsense"'),
            (USERS + "  alice: x", "duplicate user alice"),
            ("basic_auth_users: {bob: secret}",
             "user bob: the password is not a bcrypt hash"),
            ("tls_server_config: {cert_file: x}", "missing key_file"),
            ("tls_server_config: {key_file: x}", "missing cert_file"),
            ("tls_server_config:", "missing cert_file"),
            (TLS + "  cert: x", "only one of cert and cert_file is allowed"),
            (TLS + "  key: secret", "only one of key and key_file is allowed"),
            ("tls_server_config: {cert: x, key: secret}",
             "cert: "),
            (TLS + "  min_version: SSL3", "unknown TLS version: SSL3"),
            (TLS + "  min_version: TLS13\n  max_version: TLS12",
             "min_version is above max_version"),
            (TLS + "  client_auth_type: Perhaps",
             "invalid client auth type: Perhaps"),
            (TLS + "  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]",
             "unknown or insecure cipher suite: TLS_RSA_WITH_RC4_128_SHA"),
            (TLS + "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
             "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]",
             "cannot be allowed without "
             "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: add it"),
            (TLS + "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA]",
             "as TLS 1.3 needs: add one, or set max_version: TLS12"),
            (TLS + "  curve_preferences: [P256]",
             "curve is not known or there twice: P256"),
            (TLS + "  curve_preferences: [X25519, X25519]",
             "curve is not known or there twice: X25519"),
            (TLS + "  client_allowed_sans: [a]",
             "client_allowed_sans needs client_auth_type"),
            ("rate_limit: {interval: 1}", "invalid interval: 1"),
            ("rate_limit: {interval: -1s}", "invalid interval: -1s"),
            ("rate_limit: {interval: 1s}", "needs a burst of at least 1"),
            ("rate_limit: {interval: 1s, burst: many}",
             "invalid burst: many"),
            (TLS + "  client_ca_file: ca.crt", "without a client auth policy"),
            (TLS + "  client_auth_type: RequireAndVerifyClientCert",
             "needs client_ca_file"),
            (TLS.replace("server.key", "missing.key"),
             "missing.key: No such file or directory"),
            (TLS.replace("server.key", "other.key"), "other.key"),
            ("http_server_config: {headers: {Server: x}}",
             'HTTP header "Server" can not be configured'),
            ("a: &x [1]\nb: *x", "aliases are not allowed"),
            ("- list", "expected keys with values")):
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
    exporter.says("invalid certificate: keeping the previous one")


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


def what_is_not_asked_for_lets_nobody_in(world):
    """Certificates that the file demands after the start alone."""
    make_all(world)
    exporter = world.exporter(config(world, TLS + USERS))
    assert get(exporter, client(world), **basic("alice", "right"))[0] == 200
    config(world, MUTUAL)
    for cert in (None, "friend"):
        assert get(exporter, client(world, cert))[0] == 500
    exporter.says("client_auth_type changes only by a restart")


def clients_are_told_apart_by_their_names(world):
    """By those of the certificate, of each kind, and only by whole ones."""
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth")
    kinds = {"dns": ("DNS:scraper.example", "scraper.example"),
             "ip": ("IP:10.1.2.3", "10.1.2.3"),
             "ip6": ("IP:2001:db8::1", "2001:db8::1"),
             "mail": ("email:ops@example.org", "ops@example.org"),
             "uri": ("URI:spiffe://x/scraper", "spiffe://x/scraper")}
    for name, (names, _) in kinds.items():
        make_cert(world, "ca", name, "clientAuth", "DNS:first," + names)
    make_ca(world, "stranger")
    make_cert(world, "stranger", "alien", "clientAuth", "DNS:scraper.example")
    for name, (_, text) in kinds.items():
        exporter = world.exporter(config(
            world, MUTUAL + "  client_allowed_sans: [other, '%s']\n" % text))
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for other in kinds:
                context = client(world, other, version=version)
                if other == name:
                    assert get(exporter, context)[0] == 200, (name, version)
                else:
                    assert refused(exporter, context), (name, other, version)
            assert refused(exporter, client(world, "alien", version=version))
            assert refused(exporter, client(world, version=version))
    for part in ("scraper", "*.example", "SCRAPER.EXAMPLE", ""):
        exporter = world.exporter(config(
            world, MUTUAL + "  client_allowed_sans: ['%s']\n" % part))
        assert refused(exporter, client(world, "dns")), part
    # who signed it is not asked for here
    exporter = world.exporter(config(
        world, TLS + "  client_auth_type: RequireAnyClientCert\n"
        "  client_allowed_sans: [scraper.example]\n"))
    assert get(exporter, client(world, "dns"))[0] == 200
    assert get(exporter, client(world, "alien"))[0] == 200
    assert refused(exporter, client(world, "ip"))


def names_that_are_taken_away_count_at_once(world):
    """Also for connections that are open already; and new names do."""
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth")
    for name in ("one", "two"):
        make_cert(world, "ca", name, "clientAuth", "DNS:" + name)
    exporter = world.exporter(config(
        world, MUTUAL + "  client_allowed_sans: [one]\n"))
    one, two = (http.client.HTTPSConnection(
        "127.0.0.1", exporter.port, context=client(world, name),
        timeout=kftest.PATIENCE) for name in ("one", "two"))

    def status(connection):
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        answer.read()
        return answer.status
    assert status(one) == 200
    assert refused(exporter, client(world, "two"))
    config(world, MUTUAL + "  client_allowed_sans: [two]\n")
    assert status(two) == 200
    assert status(one) == 403
    assert refused(exporter, client(world, "one"))
    config(world, MUTUAL + "  client_allowed_sans: [one, two]\n")
    assert status(one) == 200 and status(two) == 200
    config(world, MUTUAL + "  client_allowed_sans: [one\n")
    assert status(one) == 500 and status(two) == 500
    config(world, MUTUAL)
    assert status(one) == 200
    one.close()
    two.close()


def chosen(exporter, context):
    """The suite and version of a connection; None if there is none."""
    try:
        with socket.create_connection(("127.0.0.1", exporter.port),
                                      timeout=kftest.PATIENCE) as s:
            with context.wrap_socket(s, server_hostname="localhost") as t:
                return t.cipher()[0]
    except OSError:
        return None


def only_named_suites_and_curves_are_spoken(world):
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth", kind=("rsa:2048",))
    old = ssl.TLSVersion.TLSv1_2
    exporter = world.exporter(config(
        world, TLS + "  cipher_suites:\n"
        "  - TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\n"
        "  - TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256\n"
        "  curve_preferences: [CurveP384]\n"))
    assert chosen(exporter, client(world, version=old)) == (
        "ECDHE-RSA-AES256-GCM-SHA384")
    for name, there in (("ECDHE-RSA-CHACHA20-POLY1305", True),
                        ("ECDHE-RSA-AES128-GCM-SHA256", False),
                        ("AES256-GCM-SHA384", False),
                        ("ECDHE-RSA-AES256-SHA384", False)):
        context = client(world, version=old)
        context.set_ciphers(name)
        assert chosen(exporter, context) == (name if there else None), name
    assert chosen(exporter, client(world)) == "TLS_AES_256_GCM_SHA384"
    for curve, there in (("secp384r1", True), ("prime256v1", False)):
        context = client(world)
        context.set_ecdh_curve(curve)
        assert bool(chosen(exporter, context)) == there, curve
    # clients that speak TLS 1.3, too, come in without it
    older = world.exporter(config(
        world, TLS + "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA]\n"
        "  max_version: TLS12\n"))
    assert chosen(older, client(world)) == "ECDHE-RSA-AES256-SHA"
    # whose order decides
    both = "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-RSA-AES128-GCM-SHA256"
    for prefer, name in (("true", "ECDHE-RSA-AES128-GCM-SHA256"),
                         ("false", "ECDHE-RSA-CHACHA20-POLY1305")):
        exporter = world.exporter(config(
            world, TLS + "  cipher_suites:\n"
            "  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n"
            "  - TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256\n"
            "  prefer_server_cipher_suites: %s\n" % prefer))
        context = client(world, version=old)
        context.set_ciphers(both)
        assert chosen(exporter, context) == name, prefer


def the_rate_of_requests_is_limited(world):
    exporter = world.exporter(config(
        world, "rate_limit: {interval: 1h, burst: 5}"))
    got = [exporter.request()[0] for _ in range(8)]
    assert got == [200] * 5 + [429] * 3, got
    # the file is read again; the bucket stays empty
    config(world, "rate_limit: {interval: 10ms, burst: 5}")
    kftest.until("one is served", lambda: exporter.request()[0] == 200)
    config(world, "rate_limit: {interval: 0}")
    assert [exporter.request()[0] for _ in range(20)] == [200] * 20


def certificates_may_stand_in_the_file(world):
    make_all(world)
    make_ca(world, "stranger")
    make_cert(world, "stranger", "enemy", "clientAuth")
    text = MUTUAL
    for name in ("server.crt", "server.key", "ca.crt"):
        with open(world.path(name)) as f:
            lines = ["    " + line for line in f.read().splitlines()]
        if name != "ca.crt":  # the client needs it
            os.unlink(world.path(name))
        text = text.replace("_file: " + name, ": |\n" + "\n".join(lines))
    assert "_file" not in text, text
    exporter = world.exporter(config(world, text))
    assert get(exporter, client(world, "friend"))[0] == 200
    assert refused(exporter, client(world))
    assert refused(exporter, client(world, "enemy"))
    # It can be changed in other things and stays that of the start.
    config(world, text + USERS)
    assert get(exporter, client(world, "friend"))[0] == 401
    assert get(exporter, client(world, "friend"), **basic("alice", "right"))[
        0] == 200


def prometheus_comes_in_with_all_of_it(world):
    make_all(world)
    subprocess.run([kftest.need("promtool"), "check", "web-config",
                    config(world, MUTUAL + USERS).split("=", 1)[1]],
                   check=True)
    sleeper = world.sleeper()
    world.stats_file("s", pid=sleeper.pid, blocks="64:23:0")
    exporter = world.exporter(config(world, MUTUAL + USERS))
    prometheus = kfprom.Prometheus(world, exporter.port, **kfweb.job(world))
    kftest.until("the count in Prometheus", lambda: [
        r for r in prometheus.query("konfiscator_malloc_total")
        if r["value"][1] == "23"])


def state_of(exporter):
    """Open files and threads of an exporter."""
    own = "/proc/%d/" % exporter.process.pid
    return len(os.listdir(own + "fd")), len(os.listdir(own + "task"))


def broken_handshakes_leave_nothing(world):
    make_all(world)
    exporter = world.exporter(config(world, MUTUAL), "--web.timeout=2s")
    friend = client(world, "friend")

    def served():
        """By one that cuts off who is slow, as this client may be."""
        try:
            return get(exporter, friend)[0] == 200
        except (OSError, http.client.HTTPException):
            return False
    kftest.until("a friend is served", served)
    # the main thread, the server's and the history's clock
    kftest.until("it rests", lambda: state_of(exporter)[1] <= 3)
    before = state_of(exporter)
    hello = ssl.MemoryBIO()
    try:
        friend.wrap_bio(ssl.MemoryBIO(), hello,
                        server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = hello.read()
    broken = (b"", b"\x16", hello[:1], hello[:50], hello[:-1], hello,
              hello + hello, b"GET /metrics HTTP/1.1\r\n\r\n", b"\0" * 5000,
              hello[:20] + b"\xff" * 400, b"\x16\x03\x01\xff\xff" + hello[5:],
              b"\x15\x03\x03\x00\x02\x02\x28", b"\x80" + hello)
    slow = []
    for piece in broken * 3:
        s = socket.create_connection(("127.0.0.1", exporter.port),
                                     timeout=kftest.PATIENCE)
        s.sendall(piece)
        slow.append(s)
    kftest.until("a friend is served", served)
    # they say no more: whoever was not refused is cut off
    kftest.until("they are gone", lambda: all(
        now <= then for now, then in zip(state_of(exporter), before)))
    for s in slow:
        s.close()
    kftest.until("a friend is served", served)


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
    what_is_not_asked_for_lets_nobody_in,
    clients_are_told_apart_by_their_names,
    names_that_are_taken_away_count_at_once,
    only_named_suites_and_curves_are_spoken,
    the_rate_of_requests_is_limited,
    certificates_may_stand_in_the_file,
    prometheus_comes_in_with_all_of_it,
    broken_handshakes_leave_nothing,
    guesses_take_as_long_for_any_user,
)
