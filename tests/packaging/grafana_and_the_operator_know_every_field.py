# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""The dashboard is one by Grafana's own types, and the PodMonitor one by the
schema that the Prometheus operator's own is made into: no field that they do
not know, no value that they do not allow, none missing.

Debian has neither; they are where npm install -g puts them, or where
KF_NODE_MODULES says. For Grafana's files of provisioning there is no schema:
manifests_fit_together.py has their keys.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

PACKAGING = os.path.join(kftest.SOURCE, "packaging")
OPERATOR = "@kubernetes-models/prometheus-operator"
MONITOR = "monitoring.coreos.com/v1/PodMonitor"
SCHEMA = "_schemas/ComGithubPrometheusOperatorPrometheusOperatorPkgApis" \
    "MonitoringV1PodMonitor.js"
PANELS = ("stat", "timeseries")

# JSON has the values of enums, and no names for them.
HEAD = """
type Plain<T> = T extends string ? `${T}` :
    T extends (infer U)[] ? Plain<U>[] :
    T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
import type {
    Dashboard, DataQuery, Panel, RowPanel, VariableModel
} from "@grafana/schema";
import type { IPodMonitor } from "%s/%s";
// what is left out has a default
type Some<T> = T extends (infer U)[] ? Some<U>[] :
    T extends object ? { [K in keyof T]?: Some<T[K]> } : T;
interface Drawn<O, F> extends Omit<Panel<O, F>, "options"> { options: Some<O> }
// Grafana writes it; its type is not in the schema
interface Variable extends VariableModel { definition?: string }
interface Board extends Omit<Dashboard, "panels" | "templating"> {
    templating: { list: Variable[] };
}
interface Query extends DataQuery {
    expr: string;
    instant?: boolean;
    range?: boolean;
    format?: "time_series" | "table" | "heatmap";
    legendFormat?: string;
    interval?: string;
}
""" % (OPERATOR, MONITOR)

VALIDATE = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const { validate } = await import(pathToFileURL(process.argv[1]));
for (const o of JSON.parse(readFileSync(0)))
    console.log(JSON.stringify(validate(o) ? [] : validate.errors));
"""


def modules():
    if not yaml:
        raise kftest.Skip("python3-yaml is missing")
    kftest.need("node")
    root = os.environ.get("KF_NODE_MODULES") or subprocess.run(
        [kftest.need("npm"), "root", "-g"], text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    for name in ("typescript", "@grafana/schema", OPERATOR):
        if not os.path.isdir(os.path.join(root, name)):
            raise kftest.Skip("%s is missing (npm install -g %s)" % (
                name, name))
    return root


def dashboard():
    with open(os.path.join(PACKAGING, "grafana", "konfiscator-overview.json"),
              encoding="utf-8") as f:
        return json.load(f)


def monitor():
    with open(os.path.join(PACKAGING, "kubernetes", "podmonitor.yaml"),
              encoding="utf-8") as f:
        return yaml.safe_load(f)


def program(board, pod_monitor):
    """TypeScript that has both as values of their types."""
    lines = [HEAD]
    for kind in PANELS:
        lines.append('import type * as %s from "panels/%s";' % (kind, kind))
    names = []
    for panel in board["panels"]:
        names.append("p%d" % len(names))
        kind = panel["type"]
        if kind == "row":
            made = "RowPanel"
        else:
            made = "Drawn<%s.Options, %s>" % (
                kind, "timeseries.FieldConfig" if kind == "timeseries"
                else "{}")
            for target in panel["targets"]:
                lines.append("(%s) satisfies Plain<Query>;"
                             % json.dumps(target))
        lines.append("const %s: Plain<%s> = %s;" % (names[-1], made,
                                                    json.dumps(panel)))
    rest = {k: v for k, v in board.items() if k != "panels"}
    lines.append("const board: Plain<Board> = %s;" % json.dumps(rest))
    lines.append("const all: Plain<Panel | RowPanel>[] = [%s];"
                 % ", ".join(names))
    lines.append("const monitor: IPodMonitor = %s;" % json.dumps(pod_monitor))
    return "\n".join(lines) + "\nexport { all, board, monitor };\n"


def compiled(world, root, **programs):
    """What the compiler has to say of each."""
    for name, text in programs.items():
        with open(world.path(name + ".ts"), "w", encoding="utf-8") as f:
            f.write(text)
    grafana = os.path.join(root, "@grafana", "schema")
    with open(world.path("tsconfig.json"), "w", encoding="utf-8") as f:
        json.dump({"compilerOptions": {
            "strict": True, "noEmit": True, "skipLibCheck": True, "types": [],
            "lib": ["es2020"], "target": "es2020", "module": "esnext",
            "moduleResolution": "bundler", "paths": {
                "@grafana/schema": [grafana + "/dist/types/index.d.ts"],
                "panels/*": [grafana + "/dist/types/raw/composable/*/"
                             "panelcfg/x/types.gen.d.ts"],
                OPERATOR + "/*": [os.path.join(root, OPERATOR, "*.d.ts")]}},
            "files": [name + ".ts" for name in programs]}, f)
    done = subprocess.run(
        ["node", os.path.join(root, "typescript", "bin", "tsc"), "--pretty",
         "false", "-p", world.path("tsconfig.json")], text=True, check=False,
        stdout=subprocess.PIPE, cwd=world.dir)
    assert done.returncode == (2 if done.stdout else 0), done
    lines = done.stdout.splitlines()
    return [[line for line in lines if line.startswith(name + ".ts(")]
            for name in programs]


def validated(root, *objects):
    """What the schema has to say of each."""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", VALIDATE,
         os.path.join(root, OPERATOR, SCHEMA)], text=True, check=True,
        input=json.dumps(objects), stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def types_are_kept(world):
    board, pod_monitor = dashboard(), monitor()
    right = program(board, pod_monitor)
    chart = [p for p in board["panels"] if p["type"] == "timeseries"]
    chart[0]["fieldConfig"]["defaults"]["custom"]["showPoints"] = "seldom"
    chart[1]["options"]["legend"]["place"] = "bottom"
    chart[2]["targets"][0]["query"] = "up"
    board["templating"]["list"][0]["hidden"] = 1
    pod_monitor["spec"]["podMetricsEndpoints"][0]["every"] = "30s"
    errors, found = compiled(world, modules(), right=right,
                             wrong=program(board, pod_monitor))
    assert not errors, "\n".join(errors)
    assert len(found) == 5, "\n".join(found)


def the_schema_is_kept(_):
    wrong = monitor(), monitor()
    wrong[0]["spec"]["podMetricsEndpoints"][0]["interval"] = "30 s"
    wrong[1]["spec"]["podMetricsEndpoints"][0]["relabelings"][0]["action"] = \
        "rename"
    right, *found = validated(modules(), monitor(), *wrong)
    assert not right, right
    assert all(found), found


kftest.main(
    types_are_kept,
    the_schema_is_kept,
)
