# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""Sockets that systemd passes are served, of any family and beside addresses
that are given; what is no such socket is refused in one line."""

import http.client
import os
import re
import socket
import subprocess

import kftest

# exec keeps the process: LISTEN_PID is the exporter's
PASS = 'n=$1; shift; LISTEN_PID=$$ LISTEN_FDS=$n exec "$@" 3<&0'


class Unix(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path):
        super().__init__("localhost", timeout=kftest.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(kftest.PATIENCE)
        self.sock.connect(self.path)


def flags(world, *more):
    return [kftest.EXPORTER, "--stats.dir=" + world.stats,
            "--stats.state-file=", *more]


def activated(world, address, *more):
    """The exporter, once somebody comes, under systemd's own tool."""
    return world.run(kftest.need("systemd-socket-activate"), "-l", address,
                     *flags(world, *more), stderr=subprocess.PIPE,
                     stdin=subprocess.DEVNULL)


def answer(connection):
    try:
        connection.request("GET", "/metrics")
        got = connection.getresponse()
        return got.status == 200 and got.read()
    except OSError:
        return None
    finally:
        connection.close()


def tcp(port):
    return http.client.HTTPConnection("127.0.0.1", port,
                                      timeout=kftest.PATIENCE)


def the_first_scrape_starts_it_on_the_socket(world):
    port = kftest.free_port()
    process = activated(world, "127.0.0.1:%d" % port, "--web.systemd-socket")
    kftest.until("an answer", lambda: answer(tcp(port)))
    assert os.path.samefile("/proc/%d/exe" % process.pid, kftest.EXPORTER)
    with open("/proc/%d/fdinfo/3" % process.pid, encoding="ascii") as f:
        mode = int(re.search(r"^flags:\s+(\d+)", f.read(), re.M)[1], 8)
    assert mode & os.O_CLOEXEC, "a tracer would inherit the socket"
    # nothing else listens: not the default address
    sockets = [fd for fd in os.listdir("/proc/%d/fd" % process.pid)
               if listens(process.pid, fd)]
    assert sockets == ["3"], sockets


def listens(pid, fd):
    try:
        link = os.readlink("/proc/%d/fd/%s" % (pid, fd))
    except OSError:
        return False
    inode = re.match(r"socket:\[(\d+)\]", link)
    if not inode:
        return False
    for table in ("tcp", "tcp6"):
        with open("/proc/%d/net/%s" % (pid, table), encoding="ascii") as f:
            for line in f.readlines()[1:]:
                words = line.split()
                if words[9] == inode[1] and words[3] == "0A":
                    return True
    return False


def a_unix_socket_is_served(world):
    path = world.path("socket")
    process = activated(world, path)
    body = kftest.until("an answer", lambda: answer(Unix(path)))
    assert b"konfiscator_exporter_build_info" in body
    process.terminate()
    log = process.stderr.read().decode()
    assert process.wait(kftest.PATIENCE) == 0, log
    assert "unix:" + path in log, log


def a_path_is_served(world):
    """Also over what a killed exporter left there, but over nothing else."""
    path = world.path("own")

    def start():
        return subprocess.Popen(
            [kftest.EXPORTER, "--web.listen-address=unix:" + path,
             "--stats.state-file="], stderr=subprocess.PIPE)
    first = start()
    try:
        kftest.until("an answer", lambda: answer(Unix(path)))
        second = start()
        log = second.communicate(timeout=kftest.PATIENCE)[1].decode()
        assert second.returncode == 1, log
        assert "cannot listen on unix:%s: Address already in use" % path in log
        assert answer(Unix(path))
    finally:
        first.kill()
        first.communicate()
    assert os.path.exists(path)
    third = start()
    try:
        kftest.until("an answer", lambda: answer(Unix(path)))
    finally:
        third.kill()
        third.communicate()
    os.unlink(path)
    for text in ("kept", None):
        if text:
            with open(path, "w") as f:
                f.write(text)
        else:
            os.rename(path, world.path("target"))
            os.symlink("target", path)
        last = start()
        log = last.communicate(timeout=kftest.PATIENCE)[1].decode()
        assert last.returncode == 1 and "cannot listen on" in log, log
    with open(path) as f:
        assert f.read() == "kept"


def an_address_that_is_given_is_served_too(world):
    port, other = kftest.free_port(), kftest.free_port()
    activated(world, "127.0.0.1:%d" % port,
              "--web.listen-address=127.0.0.1:%d" % other)
    kftest.until("an answer", lambda: answer(tcp(port)))
    kftest.until("another answer", lambda: answer(tcp(other)))


def refused(world, passed, count):
    done = subprocess.run(
        ["sh", "-c", PASS, "sh", str(count),
         *flags(world, "--web.listen-address=127.0.0.1:0")],
        stdin=passed, stderr=subprocess.PIPE, text=True, check=False,
        timeout=kftest.PATIENCE)
    said = [line for line in done.stderr.splitlines() if "LISTEN_FDS" in line]
    assert done.returncode == 1 and len(said) == 1, done
    return said[0]


def what_is_no_listening_socket_is_refused(world):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(type=kind) as s:
            s.bind(("127.0.0.1", 0))
            assert "descriptor 3" in refused(world, s, 1)
    with open(os.devnull, encoding="ascii") as f:
        assert "descriptor 3" in refused(world, f, 1)
    with socket.socket() as s:
        s.listen()
        assert "descriptor 4" in refused(world, s, 2)
        assert "at most 16" in refused(world, s, 17)


def sockets_of_another_process_are_left_alone(world):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        exporter = world.exporter(prefix=(
            "env", "LISTEN_PID=%d" % os.getpid(), "LISTEN_FDS=1"))
        assert exporter.port != s.getsockname()[1]
        assert exporter.request()[0] == 200


def the_flag_insists(world):
    done = subprocess.run(flags(world, "--web.systemd-socket"), text=True,
                          stderr=subprocess.PIPE, check=False,
                          timeout=kftest.PATIENCE)
    assert done.returncode == 1, done
    assert "--web.systemd-socket: systemd passed no socket" in done.stderr


kftest.main(
    the_first_scrape_starts_it_on_the_socket,
    a_unix_socket_is_served,
    a_path_is_served,
    an_address_that_is_given_is_served_too,
    what_is_no_listening_socket_is_refused,
    sockets_of_another_process_are_left_alone,
    the_flag_insists,
)
