# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each expression of the dashboard is run against a real Prometheus that
scrapes a real exporter; the rules pass promtool; the metrics they name exist."""

import glob
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests/exporter"))
import kftest  # noqa: E402

PACKAGING = os.path.join(kftest.SOURCE, "packaging")
DASHBOARD = os.path.join(PACKAGING, "grafana/konfiscator-overview.json")
RULES = os.path.join(PACKAGING, "prometheus/konfiscator.rules.yml")
# what a scrape of a test has not: tags, tracers and limits
ABSENT = ("konfiscator_tag_", "konfiscator_trace_",
          "konfiscator_cgroup_memory_limit_bytes")


def query(port, path, **arguments):
    url = "http://127.0.0.1:%d/api/v1/%s?%s" % (
        port, path, urllib.parse.urlencode(arguments))
    try:
        with urllib.request.urlopen(url, timeout=kftest.PATIENCE) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 503:  # it is still starting
            return {}
        raise AssertionError("%s: %s" % (arguments, error.read())) from error
    except OSError:
        return {}


def expressions():
    with open(DASHBOARD) as f:
        dashboard = json.load(f)
    assert dashboard["uid"] == "konfiscator-overview"
    names = {v["name"] for v in dashboard["templating"]["list"]}
    found = []
    for panel in dashboard["panels"]:
        assert panel["description"] and panel["targets"], panel["title"]
        for target in panel["targets"]:
            used = set(re.findall(r"\$(?!__)(\w+)", target["expr"]))
            assert used <= names, (panel["title"], used - names)
            found.append((panel["title"], target["expr"]))
    assert len(found) > 15
    return found


def panels_have_data_in_a_real_prometheus(world):
    prometheus = kftest.need("prometheus")
    sleeper = world.sleeper()
    values = dict(pid=sleeper.pid, mapped=1 << 20, metadata=4096,
                  created=1700000000000000000)
    world.stats_file("a", blocks="64:100:10", **values)
    exporter = world.exporter(state=world.state)
    with open(world.path("prometheus.yml"), "w") as f:
        f.write("global: {scrape_interval: 1s}\n"
                "rule_files: ['%s']\n"
                "scrape_configs:\n- job_name: konfiscator\n"
                "  static_configs: [{targets: ['127.0.0.1:%d']}]\n"
                % (RULES, exporter.port))
    port = kftest.free_port()
    with open(world.path("log"), "w") as log:
        world.run(prometheus, "--config.file=" + world.path("prometheus.yml"),
                  "--storage.tsdb.path=" + world.path("tsdb"),
                  "--web.listen-address=127.0.0.1:%d" % port,
                  stdout=log, stderr=log)
    kftest.until("some scrapes", lambda: [
        r for r in query(port, "query", query="count_over_time(up[5m])").get(
            "data", {}).get("result", []) if float(r["value"][1]) >= 3])
    world.stats_file("a", blocks="64:200:10", **values)
    kftest.until("a count that grew", lambda: [
        r for r in query(port, "query",
                         query="increase(konfiscator_malloc_total[1m])").get(
            "data", {}).get("result", []) if float(r["value"][1]) > 0])
    for title, expression in expressions():
        text = expression.replace("$__rate_interval", "1m")
        text = re.sub(r"\$\w+", ".*", text)
        answer = query(port, "query", query=text)
        assert answer["status"] == "success", (title, answer)
        if not any(name in text for name in ABSENT):
            assert answer["data"]["result"], (title, text)


def rules_pass_promtool(world):
    promtool = kftest.need("promtool")
    subprocess.run([promtool, "check", "rules", RULES], check=True)
    subprocess.run([promtool, "test", "rules",
                    RULES.replace("rules.yml", "rules.test.yml")], check=True)
    with open(RULES) as f:
        alerts = re.findall(r"- alert: (\w+)", f.read())
    with open(RULES.replace("rules.yml", "rules.test.yml")) as f:
        tried = set(re.findall(r"alertname: (\w+)", f.read()))
    assert len(alerts) > 5 and set(alerts) == tried, set(alerts) ^ tried


def metrics_named_are_metrics_served(world):
    sources = ""
    for path in glob.glob(kftest.SOURCE + "/exporter/*.c") + [
            kftest.SOURCE + "/src/stats/stats.def"]:
        with open(path) as f:
            sources += f.read()
    named = set()
    for path in (DASHBOARD, RULES):
        with open(path) as f:
            named |= set(re.findall(r"(?<!:)\bkonfiscator_(\w+)", f.read()))
    assert len(named) > 10
    for name in named:
        name = re.sub("_bucket$", "", name)
        assert ('"%s"' % name in sources or
                '"konfiscator_%s"' % name in sources), name


def manifests_are_yaml_of_known_kinds(world):
    try:
        import yaml
    except ImportError:
        raise kftest.Skip("python3-yaml is missing") from None
    kinds = set()
    with open(os.path.join(kftest.SOURCE, "exporter/options.c")) as f:
        flags = set(re.findall(r'^\t\{"([a-z.-]+)"', f.read(), re.M))
    for path in glob.glob(PACKAGING + "/kubernetes/*.yaml"):
        with open(path) as f:
            text = f.read()
        document = yaml.safe_load(text)
        kinds.add(document["kind"])
        assert document["apiVersion"] and document["metadata"]["name"]
        for flag in re.findall(r"--([a-z][a-z.-]+)", text):
            assert flag in flags, (path, flag)
    assert kinds == {"DaemonSet", "Pod", "PodMonitor"}


kftest.main(
    panels_have_data_in_a_real_prometheus,
    rules_pass_promtool,
    metrics_named_are_metrics_served,
    manifests_are_yaml_of_known_kinds,
)
