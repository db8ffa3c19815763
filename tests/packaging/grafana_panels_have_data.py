# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""Every expression of the Grafana dashboard has an answer in a Prometheus that
scrapes a program under the library, and names metrics that the exporter
serves; the dashboard has the variables and the places that Grafana needs."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402
import kfprom  # noqa: E402

FILE = os.path.join(kftest.SOURCE, "packaging", "grafana",
                    "konfiscator-overview.json")


def dashboard():
    with open(FILE, encoding="utf-8") as f:
        return json.load(f)


def panels():
    found = [p for p in dashboard()["panels"] if p["type"] != "row"]
    assert len(found) > 10
    return found


def expressions():
    """Panel and expression, as Grafana sends it with its variables set."""
    found = []
    for panel in panels():
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            expr = target["expr"]
            for name, value in (("$__rate_interval", "20s"),
                                ("$__range", "20s"), ("$instance", ".*"),
                                ("$process", ".*")):
                expr = expr.replace(name, value)
            assert "$" not in expr, expr
            found.append((panel["title"], expr))
    return found


def every_expression_has_an_answer(world):
    exporter = kfprom.exporter_in_cgroup(world, kfprom.worker(world))
    served = kfprom.names(exporter.scrape())
    prometheus = kfprom.Prometheus(world, exporter.port)
    for title, expr in expressions():
        unknown = kfprom.metrics_of(expr) - served
        assert not unknown, "%s: the exporter has no %s" % (title, unknown)
        kftest.until("%s: an answer to %s" % (title, expr),
                     lambda: kfprom.numbers(prometheus.query(expr)))


def queries_of_variables_have_an_answer(world):
    kfprom.worker(world)
    exporter = world.exporter()
    prometheus = kfprom.Prometheus(world, exporter.port)
    for v in dashboard()["templating"]["list"]:
        if v["type"] != "query":
            continue
        assert v["query"]["query"] == v["definition"]
        series, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                     v["definition"]).groups()
        series = series.replace("$instance", ".*")
        kftest.until(v["definition"], lambda: [
            r for r in prometheus.query(series) if r["metric"].get(label)])


def the_dashboard_is_one_that_grafana_can_place(_):
    board = dashboard()
    assert board["uid"] == "konfiscator-overview"
    assert board.get("id") is None, "an id is given by the Grafana it is in"
    names = [v["name"] for v in board["templating"]["list"]]
    assert names[0] == "datasource" and "instance" in names, names
    ids = [p["id"] for p in board["panels"]]
    assert len(set(ids)) == len(ids), "an id twice"
    taken = set()
    for p in board["panels"]:
        at = p["gridPos"]
        assert at["x"] + at["w"] <= 24, p["title"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, p["title"] + " lies over another"
        taken |= cells
    for p in panels():
        assert p["description"] and p["fieldConfig"]["defaults"]["unit"]
        for part in [p] + p["targets"]:
            assert part["datasource"] == {"type": "prometheus",
                                          "uid": "${datasource}"}, p["title"]
        refs = [t["refId"] for t in p["targets"]]
        assert len(set(refs)) == len(refs), p["title"]


kftest.main(
    the_dashboard_is_one_that_grafana_can_place,
    queries_of_variables_have_an_answer,
    every_expression_has_an_answer,
)
