# SPDX-License-Identifier: LGPL-2.1-or-later
"""Certificates, passwords and clients for an exporter with a web configuration.
"""

import base64
import http.client
import io
import os
import socket
import socketserver
import ssl
import subprocess
import threading

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


def make_cert(world, ca, name, usage, names="DNS:localhost,IP:127.0.0.1",
              kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-256")):
    with open(world.path("ext"), "w") as f:
        f.write("subjectAltName=%s\nextendedKeyUsage=%s\n" % (names, usage))
    openssl("req", "-newkey", *kind, "-nodes", "-subj", "/CN=" + name, "-keyout",
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


def make_all(world):
    """What MUTUAL names, and a certificate for a client called friend."""
    make_ca(world, "ca")
    make_cert(world, "ca", "server", "serverAuth")
    make_cert(world, "ca", "friend", "clientAuth")


def job(world):
    """How a Prometheus comes in with MUTUAL and USERS."""
    return {"scheme": "https",
            "tls_config": {"ca_file": world.path("ca.crt"),
                           "cert_file": world.path("friend.crt"),
                           "key_file": world.path("friend.key")},
            "basic_auth": {"username": "alice", "password": "right"}}


class Exchange:
    """A request and its answer, as they were sent."""

    def __init__(self, asked, told, body, connection):
        self.line, self.asked = self.parse(asked)
        self.status, self.told = self.parse(told)
        self.body = body
        self.tls = connection.version()
        self.client = dict(pair for part in connection.getpeercert()["subject"]
                           for pair in part)

    @staticmethod
    def parse(head):
        first, rest = head.split(b"\r\n", 1)
        return first.decode(), http.client.parse_headers(io.BytesIO(rest))


class Relay(socketserver.StreamRequestHandler):
    """A connection to the wire: what comes is sent on, byte for byte."""

    def handle(self):
        try:
            self.relay()
        except (OSError, EOFError):
            pass  # either side may go away

    def relay(self):
        wire = self.server
        address = ("127.0.0.1", wire.port)
        with socket.create_connection(address, kftest.PATIENCE) as plain, \
                wire.outer.wrap_socket(plain, server_hostname=address[0]) as s:
            answers = s.makefile("rb")
            while True:
                asked = self.head(self.rfile)
                s.sendall(asked)
                told = self.head(answers)
                _, headers = Exchange.parse(told)
                body = answers.read(int(headers["Content-Length"]))
                wire.seen.append(Exchange(asked, told, body, self.request))
                self.wfile.write(told + body)

    @staticmethod
    def head(file):
        lines = []
        while not lines or lines[-1] != b"\r\n":
            lines.append(file.readline())
            if not lines[-1]:
                raise EOFError
        return b"".join(lines)


class Wire(socketserver.ThreadingTCPServer):
    """Stands between a client and an exporter with MUTUAL. It is the exporter
    to the one and the client to the other, and keeps what they say."""

    daemon_threads = True

    def __init__(self, world, port):
        self.port = port
        self.seen = []
        self.outer = client(world, "friend")
        self.inner = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cafile=world.path("ca.crt"))
        self.inner.verify_mode = ssl.CERT_REQUIRED
        self.inner.load_cert_chain(world.path("server.crt"),
                                   world.path("server.key"))
        super().__init__(("127.0.0.1", 0), Relay)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def get_request(self):
        connection, address = super().get_request()
        # shaking hands is left to the connection's own thread
        return self.inner.wrap_socket(
            connection, server_side=True,
            do_handshake_on_connect=False), address
