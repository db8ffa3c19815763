# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules of process_names make the groups, the first that matches wins, the rest
is "other", limits hold, and a mistake gets one line."""

import shutil
import signal
import subprocess
import sys
import time

import kftest


def config(world, text):
    with open(world.path("config.yml"), "w") as f:
        f.write(text)
    return "--config.file=" + world.path("config.yml")


def process(world, *words):
    p = world.run(*words, stdin=subprocess.PIPE)
    kftest.until("exec", lambda: open(
        "/proc/%d/cmdline" % p.pid, "rb").read().startswith(
            words[0].encode() + b"\0"))
    world.stats_file("f.%d" % p.pid, pid=p.pid, blocks="64:10:0",
                     name="given" if len(words) > 5 else "")
    return p


def names(exporter):
    page = exporter.scrape()
    return {dict(labels)["process"]: v for (name, labels), v in
            page.samples.items() if name == "konfiscator_malloc_total"}


def counting(exporter):
    """Those that have counted anything."""
    return {name: v for name, v in names(exporter).items() if v}


def the_first_rule_that_matches_wins(world):
    sleep, cat = shutil.which("sleep"), shutil.which("cat")
    process(world, sleep, "1001")
    process(world, sleep, "1002")
    process(world, sleep, "2001")
    process(world, cat, "-u")
    process(world, sys.executable, "-c", "input()", "--port", "6379", "x")
    exporter = world.exporter(config(world, r"""
process_names:
- name: "{{.ExeBase}}-{{ .Matches.Kind }}"
  exe: [sleep]
  cmdline: ['sleep (?P<Kind>\d)(?:\d+)$', '100']
- name: "never {{.PID}}"
  comm: [sleep]
  exe: [/no/such/sleep]
- name: "p:{{.Matches.Port}}:{{.Username}}"
  cmdline: ['--port[ =](?P<Port>\d+)']
- comm: [cat]
"""))
    import pwd
    import os
    user = pwd.getpwuid(os.getuid()).pw_name
    assert names(exporter) == {"sleep-1": 20, "other": 10,
                               "p:6379:" + user: 10,
                               os.path.basename(os.path.realpath(cat)): 10}


def expressions_have_the_syntax_of_go(world):
    process(world, "/bin/sh", "-c", "read -r x # \n2", "Job-Seven", "--", "a.b")
    exporter = world.exporter(config(world, r"""
process_names:
- {name: never, cmdline: ['\\nZ', 'job-seven']}
- {name: newline, cmdline: ['(?-s)#.*Job']}
- {name: end, cmdline: ['a\z$', '[[:^digit:]\D]', '\bnone\b']}
- name: "{{.Matches.A}}{{.Matches.B}}{{.Matches.L}}{{.Matches.K}}"
  cmdline: ['(?i)(?P<A>job)-(?:six|(?<B>SEVEN|eight))', '# .*Job',
    '(a)()()()()()()()()(?P<L>.)(?P<K>[\pL])$', '^\Q/bin/sh\E\x20-c(?# x)']
"""))
    assert counting(exporter) == {"JobSeven.b": 10}, names(exporter)


def an_expression_that_backtracks_ends(world):
    sleep, cat = shutil.which("sleep"), shutil.which("cat")
    process(world, "/bin/sh", "-c", "read x", "a" * 60)
    process(world, cat, "-u")
    process(world, sleep, "1001")
    exporter = world.exporter(config(world, """
process_names:
- {name: never, cmdline: ['(a+)+$|(a|aa)+b', '((a*)*)*[x-z]$']}
- {name: each, cmdline: ['a{1,50}a{1,50}a{1,50}a{1,50}[0-9]$']}
- {name: deep, cmdline: ['^(?:a|.)*a$', '^(?:(.)|(.))*[0-9]$']}
- {name: "read {{.Matches.X}}", cmdline: ['(?P<X>a)a*$']}
- {name: idle, cmdline: [1001]}
"""))
    assert counting(exporter) == {"read a": 10, "other": 10, "idle": 10}
    exporter.says("matching an expression exceeded its limits")
    names(exporter)
    assert exporter.log.count("exceeded its limits") == 3, exporter.log


def limits_fold_into_other(world):
    sleep = shutil.which("sleep")
    for i in range(5):
        process(world, sleep, str(1000 + i))
    exporter = world.exporter("--groups.max=3", config(world, r"""
process_names:
- name: "{{.Matches.N}}"
  cmdline: ['(?P<N>\d+)$']
"""))
    found = names(exporter)
    assert len(found) == 4 and found["other"] == 20, found
    page = exporter.scrape()
    assert page.get("konfiscator_series_dropped_total", limit="groups") == 2


def a_rename_is_noticed(world):
    p = world.renamer(b"first")
    world.stats_file("f.%d" % p.pid, pid=p.pid, blocks="64:10:0")
    exporter = world.exporter(config(world, """
process_names:
- {name: one, comm: [first]}
- {name: two, comm: [second]}
"""))
    assert names(exporter) == {"one": 10, "two": 0, "other": 0}
    world.rename(p, b"second")
    assert names(exporter) == {"one": 10, "two": 0, "other": 0}
    world.rename(p, b"third")
    assert names(exporter) == {"one": 10, "two": 0, "other": 0}


def names_that_the_rules_have_are_there_from_the_start(world):
    """They are not forgotten; as many as may be, and none that is a template,
    unless the rule has all of its values."""
    exporter = world.exporter("--groups.forget-after=1s", config(world, """
process_names:
- {name: fixed, cmdline: [nothing]}
- {name: "{{.Comm}}", comm: [first, second]}
- {name: "{{.Comm}}", cmdline: [nothing]}
- {name: "a {{.Matches.N}}", cmdline: ['(?P<N>nothing)']}
- {comm: [no-exe]}
- {exe: [/usr/sbin/third, fourth]}
"""))
    wanted = dict.fromkeys(
        ("fixed", "first", "second", "third", "fourth", "other"), 0)
    assert names(exporter) == wanted
    page = exporter.scrape()
    for name in wanted:
        assert page.get("konfiscator_process_exits_total", process=name,
                        reason="exit") == 0
        assert page.get("konfiscator_allocation_size_bytes_count",
                        process=name) == 0
    world.stats_file("a", start=1, name="x", comm="second", blocks="16:6:1")
    wanted["second"] = 6
    assert names(exporter) == wanted
    time.sleep(2.1)
    assert names(exporter) == wanted
    exporter.stop()
    few = world.exporter("--groups.max=2", config(world, """
process_names:
- {name: "{{.Comm}}", comm: [one, two, three]}
"""))
    assert names(few) == {"one": 0, "two": 0, "other": 6}, names(few)


def mistakes_are_named(world):
    for text, wanted in (
            ("process_name: []", 'config.yml:1: unknown key "process_name"'),
            ("process_names:\n- {name: x}", "comm, exe or cmdline is required"),
            ("process_names:\n- {comm: [a], when: b}", 'unknown key "when"'),
            ("process_names:\n- {comm: a}", "expected a list"),
            ("process_names:\n- {cmdline: ['ab(']}",
             "config.yml:2: ab(: at offset 3: missing closing parenthesis"),
            ("process_names:\n- {cmdline: ['a**']}", "a**: at offset 2: "),
            ("process_names:\n- {cmdline: ['x(?P<>x)']}", "at offset 5: "),
            ("process_names:\n- {cmdline: ['(*UTF)x']}", "at offset "),
            ("process_names:\n- {cmdline: ['%s']}" % "".join(
                "(?P<n%d>x)" % i for i in range(33)),
             "more than 32 named groups in a rule"),
            ("process_names:\n- {name: '{{.Env}}', comm: [a]}",
             "not Comm, ExeBase, ExeFull, Username, PID, Cgroups or Matches"),
            ("process_names:\n- {name: '{{.Comm', comm: [a]}",
             "}} is missing"),
            ("process_names:\n- {name: '{{Comm}}', comm: [a]}",
             "not {{.NAME}}"),
            ("trace: [nonsense]", "unknown tracer nonsense"),
            ("trace: [sizes, sizes]", "duplicate tracer sizes"),
            ("a: 1\na: 1", 'unknown key "a"'),
            ("trace: []\ntrace: []", 'duplicate key "trace"')):
        result = subprocess.run(
            [kftest.EXPORTER, "--check-config", config(world, text)],
            capture_output=True, text=True, timeout=kftest.PATIENCE)
        assert result.returncode == 1, text
        assert result.stderr.count("\n") == 1, (text, result.stderr)
        assert wanted in result.stderr, (text, result.stderr)
    result = subprocess.run(
        [kftest.EXPORTER, "--check-config", config(
            world, "process_names:\n- {comm: [a]}\ntrace: [sizes]\n")],
        capture_output=True, text=True, timeout=kftest.PATIENCE)
    assert (result.returncode, result.stderr) == (0, ""), result


def a_signal_has_the_rules_read_again(world):
    sleep = shutil.which("sleep")
    process(world, sleep, "1001")
    flag = config(world, "process_names: [{name: old, comm: [sleep]}]\n")
    exporter = world.exporter(flag, state=world.state)

    def living():
        page = exporter.scrape()
        return {dict(labels)["process"]: v for (name, labels), v in
                page.samples.items() if name == "konfiscator_processes"}

    def reload(text, words):
        config(world, text)
        exporter.process.send_signal(signal.SIGHUP)
        exporter.says(words)
    assert names(exporter) == {"old": 10, "other": 0}
    assert living() == {"old": 1, "other": 0}
    reload("process_names: [{name: new, comm: [sleep]}]\ntrace: [sizes]\n",
           "configuration reloaded")
    assert living() == {"old": 0, "other": 0, "new": 1}
    assert names(exporter) == {"old": 10, "other": 0, "new": 0}
    assert "new tracer ignored until the exporter is restarted" in exporter.log
    reload("process_names: [{name: wrong", "keeping the previous one")
    process(world, sleep, "1002")
    assert living() == {"old": 0, "other": 0, "new": 2}
    assert names(exporter) == {"old": 10, "other": 0, "new": 10}
    assert exporter.stop() == 0
    exporter = world.exporter(state=world.state)
    exporter.process.send_signal(signal.SIGHUP)
    exporter.says("no --config.file")
    assert living() == {"old": 0, "other": 0, "new": 0, "sleep": 2}
    assert names(exporter) == {"old": 10, "other": 0, "new": 10, "sleep": 0}


kftest.main(
    the_first_rule_that_matches_wins,
    expressions_have_the_syntax_of_go,
    an_expression_that_backtracks_ends,
    limits_fold_into_other,
    a_rename_is_noticed,
    names_that_the_rules_have_are_there_from_the_start,
    mistakes_are_named,
    a_signal_has_the_rules_read_again,
)
