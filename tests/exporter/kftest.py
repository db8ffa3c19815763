# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the exporter's tests share: an exporter on a port of its own, stats
files, processes to own them, and a look at what is scraped.

A test is a list of functions whose names read as facts; main() runs them, each
in a directory of its own, and ends everything that was started.
"""

import http.client
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 60  # seconds before something that must come is given up
EXPORTER = os.environ["KF_EXPORTER"]
MKSTACKS = os.path.join(os.environ["top_builddir"], "tests/fixture/mkstacks")
MKSTATS = os.path.join(os.environ["top_builddir"], "tests/fixture/mkstats")
SOURCE = os.environ["top_srcdir"]
OPENMETRICS = "application/openmetrics-text; version=1.0.0"

RENAMER = """
import sys
for line in sys.stdin:
    with open("/proc/self/comm", "wb", buffering=0) as f:
        f.write(bytes.fromhex(line))
"""


class Skip(Exception):
    pass


def need(program):
    """The path of a program, or the test is skipped."""
    path = shutil.which(program)
    if not path:
        raise Skip(program + " is missing")
    return path


def free_port():
    """A port that nobody listens on, of those that the kernel gives nobody who
    asks for any: it stays free until it is listened on."""
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def until(what, condition):
    """Wait for a condition; its value is returned."""
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("never happened: " + what)
        time.sleep(0.05)


def refuses(wanted, *flags):
    """Flags are wrong usage, told in one line with a text."""
    result = subprocess.run([EXPORTER, *flags], capture_output=True, text=True,
                            timeout=PATIENCE, check=False)
    assert result.returncode == 2 and wanted in result.stderr, (
        flags, result.stderr)
    assert result.stderr.count("\n") == 1, result.stderr


class Page:
    """A scrape: samples by name and labels, families by name."""

    SAMPLE = re.compile(
        r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*='
        r'"(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$')
    LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')

    def __init__(self, text):
        self.text = text
        self.samples = {}
        self.types = {}
        for line in text.split("\n"):
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name not in self.types, "family twice: " + name
                self.types[name] = kind
            elif line and not line.startswith("#"):
                self.add(line)

    def add(self, line):
        match = self.SAMPLE.match(line)
        assert match, "not a sample: %r" % line
        labels = frozenset(
            (k, re.sub(r'\\(.)', lambda m: {"n": "\n"}.get(m[1], m[1]), v))
            for k, v in self.LABEL.findall(match[2] or "") if v != "")
        key = (match[1], labels)
        assert key not in self.samples, "series twice: %r" % (key,)
        self.samples[key] = float(match[3])

    def get(self, name, default=None, **labels):
        """The one sample with at least these labels."""
        found = [v for (n, have), v in self.samples.items()
                 if n == name and set(labels.items()) <= have]
        if not found and default is not None:
            return default
        assert len(found) == 1, "%s%s: %d samples" % (name, labels, len(found))
        return found[0]

    def label_values(self, name, label):
        return {dict(have).get(label, "") for (n, have) in self.samples
                if n == name}


class World:
    """What one test function may start; all of it ends with it."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="kf-exporter.")
        self.stats = os.path.join(self.dir, "stats")
        os.mkdir(self.stats)
        self.state = os.path.join(self.dir, "state")
        self.started = []

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def run(self, *args, **kw):
        process = subprocess.Popen(args, **kw)
        self.started.append(process)
        return process

    def sleeper(self, program=None):
        """A process that stays; its comm is the program's name."""
        process = self.run(program or shutil.which("sleep"), "1000")
        wanted = os.path.realpath(program or shutil.which("sleep"))
        until("exec", lambda: os.path.realpath(
            "/proc/%d/exe" % process.pid) == wanted)
        return process

    def renamer(self, comm):
        """A process that takes the names it is given, any bytes."""
        process = self.run(sys.executable, "-c", RENAMER,
                           stdin=subprocess.PIPE)
        self.rename(process, comm)
        return process

    def rename(self, process, comm):
        process.stdin.write(comm.hex().encode() + b"\n")
        process.stdin.flush()
        until("rename", lambda: open("/proc/%d/comm" % process.pid,
                                     "rb").read() == comm + b"\n")

    def end(self, process):
        process.kill()
        process.wait()

    def stats_names(self):
        """The stats files that are there: ledgers begin with a dot."""
        return [n for n in os.listdir(self.stats) if not n.startswith(".")]

    def stats_file(self, file, /, **values):
        """Write a stats file; its path. A list is its key several times."""
        path = os.path.join(self.stats, file)
        beside = self.path("beside")
        args = [b"%s=%s" % (k.encode(), v if isinstance(v, bytes)
                            else str(v).encode()) for k, all in values.items()
                for v in (all if isinstance(all, list) else [all])]
        subprocess.run([MKSTATS, beside, *args], check=True)
        os.chmod(beside, 0o644)
        os.rename(beside, path)
        return path

    def exporter(self, *flags, state=None, prefix=(), stats=None):
        return Exporter(self, list(prefix) + [
            EXPORTER, "--web.listen-address=127.0.0.1:0",
            "--stats.dir=" + (stats or self.stats),
            "--stats.state-file=" + (state or "")] + list(flags))

    def finish(self):
        for process in self.started:
            # whoever started others is given the time to end them
            process.terminate()
            # one that a test stopped would not take notice
            process.send_signal(signal.SIGCONT)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
            process.wait()
        subprocess.run(["chmod", "-R", "u+rwx", self.dir], check=False)
        shutil.rmtree(self.dir)


class Stacks:
    """A process with a stats file that has what it is told, see
    tests/fixture/mkstacks.c."""

    def __init__(self, world, file, *orders, binary=MKSTACKS):
        self.process = world.run(binary, os.path.join(world.stats, file),
                                 stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        self.wait("its start")
        for order in orders:
            self.tell(order)

    def wait(self, what):
        assert self.process.stdout.readline() == b"ok\n", what

    def tell(self, order):
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()
        self.wait(order)


class Exporter:
    """A running exporter."""

    def __init__(self, world, args):
        self.process = world.run(*args, stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL)
        self.log = ""
        self.port = None
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        until("listening", lambda: self.port or
              self.process.poll() is not None)
        assert self.port, "exporter ended: " + self.log

    def says(self, words):
        """Wait until the log has them: it comes by a pipe."""
        until("'%s' in the log" % words, lambda: words in self.log)

    def read_log(self):
        for line in self.process.stderr:
            self.log += line.decode()
            match = re.search(r'msg"?[=:]"?listening.*:(\d+)\b', self.log)
            if match:
                self.port = int(match[1])

    def request(self, path="/metrics", method="GET", **headers):
        """Status, headers and body of an answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.port,
                                       timeout=PATIENCE)
        try:
            c.request(method, path, headers={
                k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def scrape_text(self, **headers):
        status, _, body = self.request(**headers)
        assert status == 200, (status, body)
        return body.decode("utf-8", "strict")

    def scrape(self, **headers):
        return Page(self.scrape_text(**headers))

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status


def main(*facts):
    """Run the facts; the status is automake's."""
    skipped = []
    for fact in facts:
        signal.alarm(5 * PATIENCE)
        world = World()
        try:
            fact(world)
            print("ok", fact.__name__, flush=True)
        except Skip as why:
            skipped.append(str(why))
            print("SKIP:", fact.__name__ + ":", why)
        finally:
            world.finish()
    if skipped:
        try:
            os.write(9, ("SKIP: %s: %s\n" % (
                os.path.basename(sys.argv[0]), skipped[0])).encode())
        except OSError:
            pass
        sys.exit(77)
