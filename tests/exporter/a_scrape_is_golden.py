# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""The page is the same, byte for byte, in both formats, compressed and not, and
in a file; a family that the golden one does not have may be added. After a
change that is meant, KF_WRITE_GOLDEN=1 writes it anew."""

import gzip
import itertools
import os
import re
import stat
import subprocess

import kfprom
import kftest
import kfweb

GOLDEN = os.path.join(kftest.SOURCE, "tests/exporter/scrape.golden")
QUIET = ["--no-collector.resident", "--no-collector.cgroup",
         "--no-collector.exporter", "--collector.sizes"]


def write_files(world):
    for name, pid_of, values in (
            ("web", world.sleeper(), {"blocks": "64:100:40", "mmaps": 23}),
            ("tab\t\"and\\", world.sleeper(), {"blocks": "4096:7:7"})):
        world.stats_file("f.%d" % pid_of.pid, pid=pid_of.pid, name=name,
                         created=1700000000000000000, mapped=1 << 20,
                         metadata=4096, threads=3, **values)


def family_of(line):
    """The family's name as far as both formats agree: without suffix."""
    words = line.split()
    name = words[2] if line.startswith("# ") and len(words) > 2 else (
        line.split("{")[0].split(" ")[0])
    return re.sub("_(total|bucket|sum|count)$", "", name)


def group_of(line):
    found = re.search(r'process="((?:[^"\\\\]|\\\\.)*)"', line)
    return found.group(1) if found else ""


def stable(text, families=None):
    """Without what tells of the time it took, and of the collectors there are;
    of some families only; of each family one group after the other by name, as
    files are read by several threads."""
    lines = [line for line in text.splitlines(True)
             if "konfiscator_scrape_collector_" not in line and
             (families is None or family_of(line) in families)]
    runs = itertools.groupby(
        lines, lambda line: (line.startswith("#"), family_of(line)))
    return "".join(line for _, run in runs
                   for line in sorted(run, key=group_of))


def the_page_is_golden(world):
    write_files(world)
    exporter = world.exporter(*QUIET)
    families = None
    if not os.environ.get("KF_WRITE_GOLDEN"):
        with open(GOLDEN) as f:
            families = {family_of(line) for line in f}
    classic = stable(exporter.scrape().text, families)
    openmetrics = stable(exporter.scrape(Accept=kftest.OPENMETRICS).text,
                         families)
    text = classic + "\n" + openmetrics
    if os.environ.get("KF_WRITE_GOLDEN"):
        with open(GOLDEN, "w") as f:
            f.write(text)
    with open(GOLDEN) as f:
        golden = f.read()
    if text != golden:
        subprocess.run(["diff", "-u", GOLDEN, "-"], input=text.encode())
        raise AssertionError("not the golden scrape: if the change is meant, "
                             "run the test with KF_WRITE_GOLDEN=1")


def it_is_golden_by_tls_with_a_password(world):
    """As Prometheus asks for it; what it gets stands every check."""
    kfweb.make_all(world)
    write_files(world)
    exporter = world.exporter(
        kfweb.config(world, kfweb.MUTUAL + kfweb.USERS), *QUIET)

    def get(**headers):
        status, body = kfweb.get(
            exporter, kfweb.client(world, "friend"),
            **kfweb.basic("alice", "right"), **headers)
        assert status == 200, status
        return body
    with open(GOLDEN) as f:
        golden = f.read().split("\n\n", 1)[1]
    text = gzip.decompress(get(**{"Accept-Encoding": "gzip",
                                  "Accept": kftest.OPENMETRICS})).decode()
    assert stable(text, {family_of(line) for line in
                         golden.splitlines()}) == golden
    assert kftest.Page(text).samples == kfprom.openmetrics(text)
    kfprom.promtool(get())


def gzip_is_for_those_who_want_it(world):
    write_files(world)
    exporter = world.exporter(*QUIET)
    plain = stable(exporter.scrape().text)
    for wish, wanted in (
            ("gzip", True), ("GZIP", True), ("*", True), ("br, gzip", True),
            ("gzip;q=0.1", True), ("gzip ; q=1", True), ("gzip;q=0", False),
            ("gzip;q=0, *", False), ("*;q=0", False), ("identity", False),
            ("", False), ("x-gzip-not", False), ("gzip;q=x", False),
            (";;,,gzip;", True)):
        status, headers, body = exporter.request(Accept_Encoding=wish)
        assert status == 200 and "Accept-Encoding" in headers["Vary"]
        assert (headers["Content-Encoding"] == "gzip") == wanted, wish
        if wanted:
            assert len(body) < len(plain) / 2
            body = gzip.decompress(body)
        assert stable(body.decode()) == plain, wish
    # what has no length worth it is left as it is
    assert not exporter.request("/-/healthy",
                                Accept_Encoding="gzip")[1]["Content-Encoding"]


def a_file_is_replaced_whole(world):
    write_files(world)
    target = world.path("konfiscator.prom")

    def write(path):
        return subprocess.run(
            [kftest.EXPORTER, "--stats.dir=" + world.stats,
             "--stats.state-file=", "--once.textfile=" + path, *QUIET],
            capture_output=True, text=True, timeout=kftest.PATIENCE)
    result = write(target)
    assert result.returncode == 0 and not result.stdout, result
    with open(target) as f:
        text = f.read()
    assert stable(text) == stable(world.exporter(*QUIET).scrape().text)
    assert stat.S_IMODE(os.stat(target).st_mode) & ~0o644 == 0
    before = os.stat(target).st_ino
    assert write(target).returncode == 0
    assert os.stat(target).st_ino != before
    assert sorted(os.listdir(world.dir)) == ["konfiscator.prom", "stats"]
    result = write(world.path("no", "such", "directory"))
    assert result.returncode == 1 and "No such file" in result.stderr
    # what is no file stays what it is
    os.mkfifo(world.path("fifo"))
    result = write(world.path("fifo"))
    assert result.returncode == 1 and "not a regular file" in result.stderr
    assert stat.S_ISFIFO(os.stat(world.path("fifo")).st_mode)


def the_guide_knows_how_many_series_a_name_has(_):
    """doc/scaling.md reckons with them; collector sizes is off by default."""
    with open(GOLDEN, encoding="utf-8") as f:
        classic = f.read().split("\n\n")[0]
    series = [line for line in classic.splitlines()
              if line.startswith("konfiscator_") and 'process="web"' in line
              and not line.startswith("konfiscator_size_live_blocks")]
    with open(os.path.join(kftest.SOURCE, "doc", "scaling.md"),
              encoding="utf-8") as f:
        told = re.findall(r"(\d+) series for each name|"
                          r"each name less saves (\d+) series|"
                          r"\d+ of the (\d+) series", f.read())
    assert len(told) == 3, told
    assert {int("".join(found)) for found in told} == {len(series)}, (
        "doc/scaling.md has other numbers of series than %d: %s" % (
            len(series), told))


kftest.main(
    the_page_is_golden,
    it_is_golden_by_tls_with_a_password,
    gzip_is_for_those_who_want_it,
    a_file_is_replaced_whole,
    the_guide_knows_how_many_series_a_name_has,
)
