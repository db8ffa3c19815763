# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""The Helm chart makes the objects of packaging/kubernetes; each of its values has
an effect and a type in the schema, which refuses others.

It is rendered by helm if there is one, else by Helm's template engine with Helm's
functions (render.go)."""

import base64
import copy
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402

try:
    import jsonschema
    import yaml
except ImportError:
    yaml = jsonschema = None

PACKAGING = os.path.join(kftest.SOURCE, "packaging")
CHART = os.path.join(PACKAGING, "helm", "konfiscator")
OURS = {"app.kubernetes.io/instance", "app.kubernetes.io/version",
        "app.kubernetes.io/managed-by", "helm.sh/chart"}
DASHBOARD = "konfiscator-overview.json"

TOOLS = tempfile.TemporaryDirectory()
renderer = None


def read(*names):
    with open(os.path.join(CHART, *names), encoding="utf-8") as f:
        return f.read()


def need():
    if not yaml:
        raise kftest.Skip("python3-yaml or python3-jsonschema is missing")


def merged(values, changes):
    """As Helm merges: maps by their keys, all else as a whole."""
    values = copy.deepcopy(values)
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            value = merged(values[key], value)
        values[key] = value
    return values


def defaults():
    need()
    return yaml.safe_load(read("values.yaml"))


def built():
    """The program that renders, built once."""
    global renderer
    renderer = renderer or shutil.which("helm")
    if not renderer:
        go = kftest.need("go")
        renderer = os.path.join(TOOLS.name, "render")
        done = subprocess.run(
            [go, "build", "-o", renderer, os.path.join(
                kftest.SOURCE, "tests", "packaging", "render.go")],
            env=dict(os.environ, GO111MODULE="off", CGO_ENABLED="0",
                     GOPATH="/usr/share/gocode",
                     GOCACHE=os.path.join(TOOLS.name, "cache")),
            capture_output=True, text=True, timeout=600)
        if "cannot find package" in done.stderr:
            renderer = None
            raise kftest.Skip("golang-github-masterminds-sprig-dev is missing")
        assert done.returncode == 0, done.stderr
    return renderer


def rendered(into="konfiscator", **changes):
    """The text of each template by its name."""
    values = merged(defaults(), changes)
    program = built()
    if os.path.basename(program) == "helm":
        command = [program, "install", "test", CHART, "--dry-run", "-n",
                   into, "-f", "-"]
    else:
        command = [program, CHART, "test", into]
    done = subprocess.run(command, input=json.dumps(values), text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    parts = re.split(r"^---\n# Source: (?:.*/)?(\S+)\n", done.stdout, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def objects(**changes):
    """The objects by kind; the injector's have its name after the kind, if another
    has the kind, too."""
    found = {}
    for name, text in rendered(**changes).items():
        for o in yaml.safe_load_all(text) if name.endswith(".yaml") else ():
            if o:
                kind = o["kind"]
                if kind in found:
                    kind += "/" + o["metadata"]["name"]
                assert kind not in found, kind
                found[kind] = o
    return found


def manifests():
    found = {}
    for name in ("daemonset.yaml", "podmonitor.yaml"):
        with open(os.path.join(PACKAGING, "kubernetes", name),
                  encoding="utf-8") as f:
            found.update((o["kind"], o) for o in yaml.safe_load_all(f))
    return found


def without_ours(value):
    """Without the labels that a chart has and a manifest has not."""
    if isinstance(value, list):
        return [without_ours(v) for v in value]
    if not isinstance(value, dict):
        return value
    value = {k: without_ours(v) for k, v in value.items() if k not in OURS}
    if set(value.get("labels") or ()) <= {"app.kubernetes.io/name"}:
        # the manifests label what is selected by it
        value.pop("labels", None)
    return value


def the_objects_are_those_of_the_manifests(_):
    need()
    made = objects(namespace={"create": True},
                   podMonitor={"enabled": True})
    wanted = manifests()
    assert made["Namespace"]["metadata"]["name"] == "konfiscator"
    made["Namespace"]["metadata"]["labels"].pop("app.kubernetes.io/name")
    assert set(made) == set(wanted), set(made) ^ set(wanted)
    for kind, o in wanted.items():
        assert without_ours(made[kind]) == without_ours(o), kind


def selectors_find_the_pods_and_nothing_else(_):
    o = objects(podMonitor={"enabled": True},
                podLabels={"team": "heap"})
    labels = o["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
    match = o["DaemonSet"]["spec"]["selector"]["matchLabels"]
    assert match.items() <= labels.items() and len(match) == 2, match
    assert labels["team"] == "heap"
    [expression] = o["PodMonitor"]["spec"]["selector"]["matchExpressions"]
    assert labels[expression["key"]] in expression["values"]


def the_dashboard_is_ours_byte_for_byte(_):
    config = objects(dashboard={"enabled": True})["ConfigMap"]
    with open(os.path.join(PACKAGING, "grafana", DASHBOARD),
              encoding="utf-8") as f:
        assert config["data"] == {DASHBOARD: f.read()}
    assert config["metadata"]["labels"]["grafana_dashboard"] == "1"


def nothing_is_made_that_was_not_asked_for(_):
    need()
    assert set(objects()) == {"DaemonSet", "ServiceAccount"}
    made = objects(serviceAccount={"create": False, "name": "other"},
                   containers=False)
    assert set(made) == {"DaemonSet"}
    spec = made["DaemonSet"]["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == "other"
    [exporter] = spec["containers"]
    assert "SYS_PTRACE" not in str(exporter), exporter
    assert "--stats.containers" not in exporter["command"]


def the_injectors_objects_fit_together(world):
    made = objects(injector={"enabled": True})
    assert "injector" not in str(objects()).lower()
    [webhook] = made["MutatingWebhookConfiguration"]["webhooks"]
    service, pod = made["Service"], made["Deployment"]["spec"]["template"]
    client = webhook["clientConfig"]["service"]
    assert (client["name"], client["namespace"]) == (
        service["metadata"]["name"], service["metadata"]["namespace"])
    [port] = service["spec"]["ports"]
    assert client["port"] == port["port"]
    assert service["spec"]["selector"] == pod["metadata"]["labels"] == \
        made["Deployment"]["spec"]["selector"]["matchLabels"]
    # nor are they the DaemonSet's
    match = made["DaemonSet"]["spec"]["selector"]["matchLabels"]
    assert not match.items() <= pod["metadata"]["labels"].items()
    [c] = pod["spec"]["containers"]
    assert port["targetPort"] in [p["name"] for p in c["ports"]]
    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["timeoutSeconds"] <= 5
    [left_out] = webhook["namespaceSelector"]["matchExpressions"]
    assert left_out["operator"] == "NotIn"
    assert {"kube-system", "konfiscator"} <= set(left_out["values"])
    secret = made["Secret"]
    volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
    assert volumes["tls"]["secret"]["secretName"] == secret["metadata"]["name"]
    assert volumes["web"]["configMap"]["name"] == \
        made["ConfigMap"]["metadata"]["name"]
    the_injector_serves(world, made, webhook, c)


def the_injector_serves(world, made, webhook, c):
    """Run the Deployment's command with the made certificate, and call it as the
    API server does: by the name of the service, with the bundle alone."""
    data = {k: base64.b64decode(v) for k, v in made["Secret"]["data"].items()}
    for name, text in data.items():
        with open(world.path(name), "wb") as f:
            f.write(text)
    web = made["ConfigMap"]["data"]["web.yml"].replace(
        "/etc/konfiscator/tls", world.dir)
    with open(world.path("web.yml"), "w", encoding="utf-8") as f:
        f.write(web)
    assert c["command"][0] == "konfiscator_exporter"
    flags = [f.replace("/etc/konfiscator/web", world.dir)
             for f in c["command"][1:] if "listen-address" not in f]
    exporter = world.exporter(*flags)
    context = ssl.create_default_context(cadata=base64.b64decode(
        webhook["clientConfig"]["caBundle"]).decode())
    service = webhook["clientConfig"]["service"]
    host = "%(name)s.%(namespace)s.svc" % service
    with socket.create_connection(("127.0.0.1", exporter.port)) as plain, \
            context.wrap_socket(plain, server_hostname=host) as s:
        s.sendall(b"POST %s?timeout=3s HTTP/1.1\r\nHost: %s:443\r\nContent-Length: "
                  b"2\r\n\r\n{}" % (service["path"].encode(), host.encode()))
        answer = s.recv(4096)
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    with_mine = objects(injector=INJECTOR)
    assert "Secret" not in with_mine
    [webhook] = with_mine["MutatingWebhookConfiguration"]["webhooks"]
    assert webhook["clientConfig"]["caBundle"] == "Q0E="


def leaves(values, at=()):
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, at + (key,))
        else:
            yield at + (key,), value


def changes_of(path, value):
    for key in reversed(path):
        value = {key: value}
    return value


# Another value of each key, which the schema allows.
OTHERS = {
    "image.pullPolicy": "Always", "imagePullSecrets": [{"name": "key"}],
    "port": 1234, "statsDir": "/srv/stats", "stateDir": "/srv/state",
    "extraArgs": ["--log.level=debug"], "affinity": {"nodeAffinity": {}},
    "tolerations": [{"key": "only", "operator": "Exists"}],
    "updateStrategy": {"type": "OnDelete"}, "podMonitor.interval": "1m",
    "podMonitor.select": ["other"], "resources.requests.cpu": "7m",
    "resources.requests.memory": "7Mi", "resources.limits.memory": "7Mi",
    "dashboard.labels.grafana_dashboard": "0", "injector.replicas": 7,
    "injector.port": 9443, "injector.timeoutSeconds": 9,
    "injector.excludedNamespaces": ["other"], "injector.tls.caBundle": "b3RoZXI=",
    "injector.tls.certManager": "heap/other",
    "injector.resources.requests.cpu": "7m",
    "injector.resources.requests.memory": "7Mi",
    "injector.resources.limits.memory": "7Mi"}

# A Secret that is given: one that is made is another each time.
INJECTOR = {"enabled": True, "tls": {"secretName": "mine", "caBundle": "Q0E="}}


def every_value_has_an_effect(_):
    on = {"podMonitor": {"enabled": True}, "dashboard": {"enabled": True},
          "injector": INJECTOR}
    assert rendered(**on) == rendered(**on)
    before = rendered(**on)
    schema = json.loads(read("values.schema.json"))
    for path, value in leaves(defaults()):
        name = ".".join(path)
        if name in OTHERS:
            value = OTHERS[name]
        elif isinstance(value, bool):
            value = not merged(defaults(), on)[path[0]][path[1]] \
                if len(path) > 1 else not value
        elif isinstance(value, str):
            value = "other"
        else:
            assert value == {}, name
            value = {"other": "other"}
        changes = changes_of(path, value)
        jsonschema.validate(merged(defaults(), changes), schema)
        assert rendered(**merged(on, changes)) != before, name
        text = str(objects(**merged(on, changes)))
        if not isinstance(value, bool):
            for word in re.findall(r"\w+", str(value)):
                assert word in text, (name, word)


def the_schema_knows_the_values_and_refuses_others(_):
    need()
    schema = json.loads(read("values.schema.json"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(defaults(), schema)
    known = set(schema["properties"]) - {"global"}
    assert known == set(defaults()), known ^ set(defaults())
    for wrong in ({"prot": 1}, {"port": "10170"}, {"port": 0}, {"port": 70000},
                  {"image": {"tag": ""}}, {"image": {"tags": "1"}},
                  {"image": {"pullPolicy": "never"}}, {"statsDir": "run"},
                  {"statsDir": "/a b"}, {"stateDir": "/x:y"}, {"fullname": "A"},
                  {"fullname": ""}, {"containers": "yes"},
                  {"extraArgs": ["log"]}, {"extraArgs": "--x"},
                  {"podLabels": {"a": 1}}, {"podMonitor": {"interval": "30"}},
                  {"podMonitor": {"select": []}}, {"tolerations": {}},
                  {"updateStrategy": {"type": "Recreate"}},
                  {"serviceAccount": {"name": "A_B"}},
                  {"injector": {"timeoutSeconds": 0}}, {"injector": True},
                  {"injector": {"timeoutSeconds": 31}},
                  {"injector": {"failurePolicy": "Fail"}},
                  {"injector": {"tls": {"caBundle": "-----BEGIN"}}},
                  {"injector": {"tls": {"certManager": "name"}}},
                  {"namespace": {"create": None}}, {"dashboard": True}):
        try:
            jsonschema.validate(merged(defaults(), wrong), schema)
        except jsonschema.ValidationError:
            continue
        raise AssertionError("the schema allows %s" % wrong)


def kubernetes_knows_every_field(_):
    try:
        from kubernetes.client import ApiClient
    except ImportError as e:
        raise kftest.Skip("python3-kubernetes is missing") from e
    types = {"Deployment": "V1Deployment", "Service": "V1Service",
             "Secret": "V1Secret", "MutatingWebhookConfiguration":
             "V1MutatingWebhookConfiguration", "DaemonSet": "V1DaemonSet", "ServiceAccount": "V1ServiceAccount",
             "Namespace": "V1Namespace", "ConfigMap": "V1ConfigMap"}
    everything = {"namespace": {"create": True}, "dashboard": {"enabled": True},
                  "imagePullSecrets": [{"name": "x"}],
                  "priorityClassName": "high", "affinity": {
                      "nodeAffinity": {}}, "nodeSelector": {"a": "b"},
                  "updateStrategy": {"type": "OnDelete"},
                  "injector": {"enabled": True}}
    made = objects(**everything)
    # Kubernetes 1.27 has these, python3-kubernetes may be older
    for webhook in made["MutatingWebhookConfiguration"]["webhooks"]:
        webhook.pop("matchConditions")
    for kind, name in types.items():
        data = type("", (), {"data": json.dumps(made[kind])})
        client = ApiClient()
        back = client.sanitize_for_serialization(client.deserialize(data, name))
        assert without_empty(back) == without_empty(made[kind]), kind


def without_empty(value):
    if isinstance(value, dict):
        return {k: without_empty(v) for k, v in value.items() if v not in ({}, [])}
    if isinstance(value, list):
        return [without_empty(v) for v in value]
    return value


def the_chart_has_the_version_of_the_package(_):
    need()
    with open(os.path.join(kftest.SOURCE, "configure.ac"),
              encoding="utf-8") as f:
        version = re.search(r"AC_INIT\(\[konfiscator\], \[([^]]+)", f.read())[1]
    chart = yaml.safe_load(read("Chart.yaml"))
    assert chart["appVersion"] == chart["version"] == version, chart
    assert chart["apiVersion"] == "v2" and chart["name"] == "konfiscator"


def the_notes_are_of_the_values(_):
    need()
    if os.path.basename(built()) == "helm":
        raise kftest.Skip("helm prints the notes elsewhere")
    notes = rendered(into="heap", port=1234)["NOTES.txt"]
    assert "-n heap port-forward daemonset/konfiscator-exporter 1234" in notes
    assert "label namespace heap" in notes and "podMonitor" in notes
    assert "{" not in notes and "<no" not in notes, notes


kftest.main(
    the_schema_knows_the_values_and_refuses_others,
    the_chart_has_the_version_of_the_package,
    the_objects_are_those_of_the_manifests,
    selectors_find_the_pods_and_nothing_else,
    the_dashboard_is_ours_byte_for_byte,
    nothing_is_made_that_was_not_asked_for,
    the_injectors_objects_fit_together,
    every_value_has_an_effect,
    kubernetes_knows_every_field,
    the_notes_are_of_the_values,
)
