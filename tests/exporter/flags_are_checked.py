# SPDX-License-Identifier: LGPL-2.1-or-later
"""Flags work as --help says, the manual page says the same, and a mistake gets
one line."""

import json
import os
import re
import signal
import socket
import subprocess

import kftest


def run(*flags, **kw):
    return subprocess.run([kftest.EXPORTER, *flags], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=kftest.PATIENCE, **kw)


def a_mistake_gets_one_line_and_status_2(world):
    for flags, word in (
            (["--wrong"], "--wrong"),
            (["--wrong=1"], "--wrong"),
            (["-x"], "-x"),
            (["extra"], "extra"),
            (["--once=yes"], "--once=yes"),
            (["--groups.max"], "--groups.max"),
            (["--groups.max=0"], "1 to 100000"),
            (["--groups.max=-1"], "1 to 100000"),
            (["--groups.max=5x"], "'5x'"),
            (["--groups.forget-after=10"], "unit"),
            (["--groups.forget-after=0s"], "unit"),
            (["--web.max-requests=many"], "many"),
            (["--web.telemetry-path=metrics"], "metrics"),
            (["--web.max-wrong-passwords=-1"], "0 (no limit) to"),
            (["--web.allowed-hosts="], "a host name"),
            (["--web.allowed-hosts=a.example.com:80"], "a host name"),
            (["--web.allowed-hosts=*example.com"], "*.DOMAIN"),
            (["--web.allowed-hosts=a.*.com"], "*.DOMAIN"),
            (["--web.telemetry-path=/<b>"], "<b>"),
            (["--web.listen-address=8000"], "8000"),
            (["--web.listen-address=localhost:"], "'localhost:'"),
            (["--web.listen-address=:65536"], "0 to 65535"),
            (["--web.listen-address=[::1]:80a"], "0 to 65535"),
            (["--otlp.profiles"], "needs --otlp.endpoint"),
            (["--otlp.headers-file=/x"], "needs --otlp.endpoint"),
            (["--injector"], "needs --injector.image"),
            (["--log.level=loud"], "loud"),
            (["--log.format=xml"], "xml"),
            (["--collector.none"], "--collector.none is unknown"),
            (["--frob=1"], "--frob=1 is unknown"),
            (["--web.ma"], "--web.ma is ambiguous: --web.max-requests, --"),
            (["--stats.containers=1"], "--stats.containers=1 takes no argument"),
            (["--check=1"], "--check=1 takes no argument"),
            (["--once", "-xq"], "no flag -x"),
            (["--stats.dir="], "directory")):
        result = run(*flags)
        assert result.returncode == 2, (flags, result)
        assert result.stderr.count("\n") == 1, (flags, result.stderr)
        assert word in result.stderr, (flags, result.stderr)
        assert result.stdout == "", flags


def ports_of_no_known_name_are_told(world):
    result = run("--web.listen-address=127.0.0.1:no-such-port")
    assert result.returncode == 1, result
    assert "127.0.0.1:no-such-port: no port has that name" in result.stderr


def help_and_manual_page_name_the_same_flags(world):
    result = run("--help")
    assert result.returncode == 0 and result.stderr == ""
    assert run("-h").stdout == result.stdout
    said = re.findall(r"^  (?:-\w, )?--(\S+)", result.stdout, re.M)
    assert len(said) > 10
    defaults = dict(re.findall(r"^  --(\S+) .*\[(.*)\]$", result.stdout, re.M))
    manual = open(os.path.join(kftest.SOURCE, "doc",
                               "konfiscator_exporter.8")).read()
    told = []
    for line in re.findall(r"^\.It (?:Fl \w , )?Fl Fl (.*)$", manual, re.M):
        told.append(re.sub(r" Ns = Ns Ar ", "=", line).replace("\\&", ""))
    assert sorted(said) == sorted(told), set(said) ^ set(told)
    for flag, default in defaults.items():
        if default in ("on", "off"):
            continue
        part = manual.split(".It Fl Fl " + flag.split("=")[0], 1)[1]
        part = part.split(".It Fl Fl", 1)[0]
        assert default in part, (flag, default)


def output_that_cannot_be_written_is_a_failure(world):
    with open("/dev/full", "w") as full:
        for flag in ("--help", "--version", "--once"):
            result = subprocess.run(
                [kftest.EXPORTER, flag, "--stats.state-file="], stdout=full,
                stderr=subprocess.PIPE, text=True)
            assert result.returncode != 0, flag
            assert "cannot write to stdout" in result.stderr, flag


def an_address_in_use_gets_one_line_and_status_1(world):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        address = "127.0.0.1:%d" % s.getsockname()[1]
        result = run("--web.listen-address=" + address, "--stats.state-file=")
        assert result.returncode == 1
        assert result.stderr.count("\n") == 1 and address in result.stderr


def a_place_that_is_not_there_is_told(world):
    nowhere = world.path("nowhere")
    file = world.path("file")
    with open(file, "w", encoding="utf-8"):
        pass
    for path in (nowhere, file):
        result = run("--path.procfs=" + path, "--once", "--stats.state-file=")
        assert result.returncode == 1 and not result.stdout, result
        assert result.stderr.count("\n") == 1 and path in result.stderr
    # some machines have none
    exporter = world.exporter("--path.cgroupfs=" + nowhere)
    exporter.says("no cgroup file system")
    exporter.says(nowhere)
    exporter.scrape()
    silent = world.exporter("--path.cgroupfs=" + nowhere,
                            "--no-collector.cgroup")
    silent.scrape()
    assert silent.stop() == 0 and "no cgroup file system" not in silent.log


def several_addresses_are_served(world):
    exporter = world.exporter("--web.listen-address=127.0.0.1:0")
    kftest.until("two", lambda: exporter.log.count("listening") == 2)
    for port in re.findall(r"address=127.0.0.1:(\d+)", exporter.log):
        exporter.port = int(port)
        assert exporter.request()[0] == 200


def signals_end_it_cleanly(world):
    for sig in (signal.SIGTERM, signal.SIGINT):
        exporter = world.exporter()
        exporter.scrape()
        assert exporter.stop(sig) == 0
        assert "level=error" not in exporter.log


def the_log_is_json_when_asked(world):
    exporter = world.exporter("--log.format=json")
    with open(os.path.join(world.stats, 'b"\\\n\xff'), "w") as f:
        f.write("not a stats file")
    exporter.scrape()
    assert exporter.stop() == 0
    lines = [json.loads(line) for line in exporter.log.splitlines()]
    assert {"listening", "stats file skipped", "ending"} <= {
        line["msg"] for line in lines}


def collectors_can_be_left_out(world):
    page = world.exporter("--no-collector.stats").scrape()
    assert "collector=\"stats\"" not in page.text
    page = world.exporter("--no-collector.exporter",
                          "--collector.exporter").scrape()
    assert page.get("konfiscator_exporter_build_info") == 1
    page = world.exporter("--web.disable-exporter-metrics").scrape()
    assert "\nprocess_" not in page.text
    assert "konfiscator_http_requests_total" not in page.text
    assert page.get("konfiscator_exporter_build_info") == 1


def own_process_is_measured(world):
    exporter = world.exporter()
    page = exporter.scrape()
    proc = "/proc/%d/" % exporter.process.pid
    assert page.get("process_open_fds") <= len(os.listdir(proc + "fd")) + 8
    assert page.get("process_resident_memory_bytes") > 1 << 20
    assert page.get("process_virtual_memory_bytes") > page.get(
        "process_resident_memory_bytes")
    assert abs(page.get("process_start_time_seconds") -
               os.stat(proc).st_ctime) < 3600
    assert page.get("process_max_fds") > 0


kftest.main(
    a_mistake_gets_one_line_and_status_2,
    help_and_manual_page_name_the_same_flags,
    output_that_cannot_be_written_is_a_failure,
    an_address_in_use_gets_one_line_and_status_1,
    a_place_that_is_not_there_is_told,
    several_addresses_are_served,
    signals_end_it_cleanly,
    the_log_is_json_when_asked,
    collectors_can_be_left_out,
    own_process_is_measured,
)
