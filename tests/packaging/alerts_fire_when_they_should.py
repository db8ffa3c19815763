# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""promtool accepts the rules, their tests pass and leave no rule out; they ask
for metrics, labels and values that the exporter serves, and a Prometheus with
these rules records an answer for a program under the library."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402
import kfprom  # noqa: E402

DIRECTORY = os.path.join(kftest.SOURCE, "packaging", "prometheus")
RULES = [os.path.join(DIRECTORY, "konfiscator.%s.yml" % name)
         for name in ("rules", "alerts")]
TESTS = os.path.join(DIRECTORY, "konfiscator.test.yml")


def text(path):
    with open(path, encoding="utf-8") as f:
        return re.sub(r"^ *#.*\n", "", f.read(), flags=re.M)


def promtool(*args):
    done = subprocess.run([kftest.need("promtool"), *args], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def named(kind):
    found = re.findall(r"- %s: (\S+)" % kind, "".join(map(text, RULES)))
    assert found and len(set(found)) == len(found), found
    return found


def promtool_accepts_the_rules(_):
    said = promtool("check", "rules", *RULES)
    assert said.count("SUCCESS") == len(RULES), said


def the_rules_own_tests_pass(_):
    promtool("test", "rules", TESTS)


def a_wrong_threshold_fails_them(world):
    for path in RULES + [TESTS]:
        shutil.copy(path, world.dir)
    with open(world.path("konfiscator.alerts.yml"), "w",
              encoding="utf-8") as f:
        f.write(text(RULES[1]).replace("> 0.9", "> 0.99"))
    done = subprocess.run([kftest.need("promtool"), "test", "rules",
                           world.path("konfiscator.test.yml")],
                          capture_output=True, check=False)
    assert done.returncode != 0
    assert b"KonfiscatorNearMemoryLimit" in done.stdout + done.stderr


def every_rule_is_tested(_):
    tested = text(TESTS)
    for name in named("record"):
        assert re.search(r"expr: %s\b" % name, tested), name
    for name in named("alert"):
        # once silent or once more would do for promtool, but not for us
        assert re.search(r"alertname: %s\n +exp_alerts:" % name, tested), name


def they_ask_for_what_the_exporter_serves(world):
    exporter = kfprom.exporter_in_cgroup(world, kfprom.worker(world))
    page = exporter.scrape()
    for path in RULES:
        rules = text(path)
        unknown = kfprom.metrics_of(rules) - kfprom.names(page)
        assert not unknown, "%s: the exporter has no %s" % (path, unknown)
        for metric, label, values in re.findall(
                r'(\w+)\{(\w+)=~?"([^"]*)"\}', rules):
            if metric != "up":
                served = page.label_values(metric, label)
                missing = set(values.split("|")) - served
                assert not missing, (metric, label, missing, served)
    prometheus = kfprom.Prometheus(world, exporter.port, *RULES)
    for name in named("record"):
        kftest.until(name + " has an answer",
                     lambda: kfprom.numbers(prometheus.query(name)))

    def well():
        groups = (prometheus.ask("rules") or {"groups": []})["groups"]
        return groups and all(r["health"] == "ok" for g in groups
                              for r in g["rules"])
    kftest.until("all rules are evaluated", well)


kftest.main(
    promtool_accepts_the_rules,
    the_rules_own_tests_pass,
    a_wrong_threshold_fails_them,
    every_rule_is_tested,
    they_ask_for_what_the_exporter_serves,
)
