# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""What Kubernetes and compose are told fits together and fits the image: flags,
paths, ports, volumes and labels are those of the others."""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

# The keys of Grafana's files of provisioning, version 1, and their types, as
# its documentation has them: it leaves out silently what it does not know.
DATASOURCE = {
    "name": str, "type": str, "access": str, "orgId": int, "uid": str,
    "url": str, "user": str, "database": str, "basicAuth": bool,
    "basicAuthUser": str, "withCredentials": bool, "isDefault": bool,
    "version": int, "editable": bool, "jsonData": dict,
    "secureJsonData": dict}
PROVIDER = {
    "name": str, "orgId": int, "folder": str, "folderUid": str, "type": str,
    "disableDeletion": bool, "updateIntervalSeconds": int,
    "allowUiUpdates": bool, "options": dict}
# ... and of a Prometheus among jsonData, a directory among options
PROMETHEUS = {
    "httpMethod": str, "manageAlerts": bool, "timeInterval": str,
    "queryTimeout": str, "prometheusType": str, "prometheusVersion": str,
    "cacheLevel": str, "incrementalQuerying": bool,
    "disableRecordingRules": bool, "customQueryParameters": str}
DIRECTORY = {"path": str, "foldersFromFilesStructure": bool}

PACKAGING = os.path.join(kftest.SOURCE, "packaging")
BENCH = os.path.join(PACKAGING, "bench")


def load(*names):
    if not yaml:
        raise kftest.Skip("python3-yaml is missing")
    with open(os.path.join(PACKAGING, *names), encoding="utf-8") as f:
        found = list(yaml.safe_load_all(f))
    assert found and all(found), names
    return found


def objects():
    """Every object of the manifests, by kind."""
    found = {}
    for name in sorted(os.listdir(os.path.join(PACKAGING, "kubernetes"))):
        if name.endswith(".yaml"):
            for o in load("kubernetes", name):
                assert o["apiVersion"] and o["metadata"]["name"], name
                assert o["kind"] not in found, o["kind"]
                found[o["kind"]] = o
    return found


def pods():
    """Metadata and spec of each pod."""
    o = objects()
    return [o["DaemonSet"]["spec"]["template"], o["Pod"]]


def containers():
    for pod in pods():
        spec = pod["spec"]
        for c in spec["initContainers"] + spec["containers"]:
            yield spec, c


def dockerfile():
    with open(os.path.join(BENCH, "Dockerfile"), encoding="utf-8") as f:
        return f.read()


def volumes_are_declared_and_used(_):
    for pod in pods():
        spec = pod["spec"]
        declared = {v["name"] for v in spec["volumes"]}
        mounted = {m["name"] for c in spec["initContainers"] +
                   spec["containers"] for m in c["volumeMounts"]}
        assert declared == mounted, (declared, mounted)


def paths_are_on_a_volume(_):
    for _spec, c in containers():
        mounts = {m["mountPath"]: m for m in c["volumeMounts"]}
        asked = [a.split("=", 1)[1] for a in c["command"]
                 if a.startswith("--stats.") and "=" in a]
        asked += [e["value"] for e in c.get("env", ())]
        assert asked or c["name"] in ("library", "directory"), c["name"]
        for path in asked:
            home = [m for m in mounts if path == m or
                    path.startswith(m + "/")]
            assert home, (c["name"], path, mounts)
            if "libkonfiscator" not in path:
                assert not mounts[home[0]].get("readOnly"), path


def no_container_may_more_than_it_needs(_):
    for _spec, c in containers():
        security = c["securityContext"]
        assert security["allowPrivilegeEscalation"] is False, c["name"]
        assert security["readOnlyRootFilesystem"] is True, c["name"]
        assert security["capabilities"]["drop"] == ["ALL"], c["name"]
        assert c["resources"]["limits"]["memory"], c["name"]
    exporter = objects()["DaemonSet"]["spec"]["template"]["spec"][
        "containers"][0]
    with open(os.path.join(PACKAGING, "systemd",
                           "konfiscator_exporter.service"),
              encoding="utf-8") as f:
        bound = re.search("^CapabilityBoundingSet=(.*)$", f.read(), re.M)[1]
    added = {"CAP_" + name for name in
             exporter["securityContext"]["capabilities"]["add"]}
    assert ("CAP_SYS_PTRACE" in added) == \
        ("--stats.containers" in exporter["command"])
    # it is in no group of the node
    assert added - {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"} == \
        set(bound.split()), (added, bound)


def the_directory_is_that_of_a_machine(_):
    with open(os.path.join(PACKAGING, "systemd", "konfiscator.tmpfiles"),
              encoding="utf-8") as f:
        path, mode = re.search(r"^d (\S+) (\d+) ", f.read(), re.M).groups()
    command, = [c["command"] for _spec, c in containers()
                if c["name"] == "directory"]
    assert command == ["chmod", mode, path], command


def exporters_are_started_with_flags_there_are(_):
    told = 0
    for _spec, c in containers():
        if c["command"][0] != "konfiscator_exporter":
            continue
        told += 1
        page = subprocess.run(
            [kftest.EXPORTER, *c["command"][1:], "--version"], text=True,
            capture_output=True, check=False)
        assert page.returncode == 0, page.stderr
        port, = [p["containerPort"] for p in c["ports"]]
        assert "--web.listen-address=:%d" % port in c["command"]
        for kind in ("livenessProbe", "readinessProbe"):
            get = c[kind]["httpGet"]
            assert get["port"] == c["ports"][0]["name"]
    assert told == 2, told


def probes_are_answered(world):
    exporter = world.exporter()
    for _spec, c in containers():
        for kind in ("livenessProbe", "readinessProbe"):
            if kind in c:
                assert exporter.request(c[kind]["httpGet"]["path"])[0] == 200
    monitor = objects()["PodMonitor"]["spec"]
    assert exporter.request(monitor["podMetricsEndpoints"][0]["path"])[0] == \
        200


def the_monitor_finds_the_pods(_):
    spec = objects()["PodMonitor"]["spec"]
    rule, = spec["selector"]["matchExpressions"]
    assert rule["operator"] == "In"
    found = {p["metadata"]["labels"][rule["key"]] for p in pods()}
    assert set(rule["values"]) == found, found
    for pod in pods():
        names = [p["name"] for c in pod["spec"]["containers"]
                 for p in c.get("ports", ())]
        assert names == [spec["podMetricsEndpoints"][0]["port"]], names
    daemons = objects()["DaemonSet"]["spec"]
    assert daemons["selector"]["matchLabels"].items() <= \
        daemons["template"]["metadata"]["labels"].items()
    with open(os.path.join(PACKAGING, "prometheus",
                           "konfiscator.alerts.yml"), encoding="utf-8") as f:
        jobs = set(re.findall(r'job="(\w+)"', f.read()))
    relabels = spec["podMetricsEndpoints"][0]["relabelings"]
    assert [r["replacement"] for r in relabels
            if r["targetLabel"] == "job"] == list(jobs)
    assert {s["job_name"] for s in load("bench", "prometheus.yml")[0][
        "scrape_configs"]} == jobs


def the_image_has_what_is_asked_of_it(_):
    text = dockerfile()
    tag = re.search(r"docker build .* -t (\S+) ", text)[1]
    prefix = re.search(r"--prefix=(\S+)", text)[1]
    images = {c["image"] for _spec, c in containers()
              if "docker.io" not in c["image"]}
    assert images == {tag + ":latest"}, images
    library = [a for _spec, c in containers() for a in c["command"]
               if "libkonfiscator.so" in a]
    assert library == [prefix + "/lib/libkonfiscator.so.1"], library
    port = re.search(r"^EXPOSE (\d+)", text, re.M)[1]
    services = load("bench", "compose.yaml")[0]["services"]
    assert services["bench"]["ports"] == ["127.0.0.1:%s:%s" % (port, port)]
    target, = [t for s in load("bench", "prometheus.yml")[0]["scrape_configs"]
               for c in s["static_configs"] for t in c["targets"]]
    assert target == "bench:" + port


def compose_accepts_its_file(_):
    """No daemon is asked. What it builds from is there, too."""
    done = subprocess.run(
        [kftest.need("docker-compose"), "-f",
         os.path.join(BENCH, "compose.yaml"), "config"],
        text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    build = yaml.safe_load(done.stdout)["services"]["bench"]["build"]
    assert os.path.samefile(os.path.join(build["context"],
                                         build["dockerfile"]),
                            os.path.join(BENCH, "Dockerfile")), build
    for source in re.findall(r"^COPY (?!--)(\S+) ", dockerfile(), re.M):
        assert os.path.exists(os.path.join(build["context"], source)), source


def compose_refuses_what_its_schema_has_not(world):
    file, = load("bench", "compose.yaml")
    file["services"]["bench"]["prots"] = file["services"]["bench"]["ports"]
    path = world.path("compose.yaml")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(file, f)
    done = subprocess.run(
        [kftest.need("docker-compose"), "-f", path, "config"],
        text=True, capture_output=True, check=False)
    assert done.returncode and "prots" in done.stderr, done


def has_keys(what, known, *needed):
    """Whether all keys are known and of their types, and none is missing."""
    for key, value in what.items():
        assert type(value) is known.get(key), (key, value)
    assert not set(needed) - set(what), (needed, what)


def provisioning(kind, file, entries):
    """The one entry of a file, which has nothing else."""
    found, = load("bench", "grafana", kind, file)
    has_keys(found, {"apiVersion": int, entries: list}, "apiVersion", entries)
    assert found["apiVersion"] == 1
    one, = found[entries]
    return one


def grafana_is_provisioned_with_keys_that_it_has(_):
    directory = os.path.join(BENCH, "grafana")
    assert {kind: os.listdir(os.path.join(directory, kind))
            for kind in os.listdir(directory)} == {
        "dashboards": ["konfiscator.yaml"],
        "datasources": ["prometheus.yaml"]}
    source = provisioning("datasources", "prometheus.yaml", "datasources")
    has_keys(source, DATASOURCE, "name", "type", "access", "url")
    has_keys(source["jsonData"], PROMETHEUS)
    assert source["access"] == "proxy" and source["isDefault"]
    scrapes = load("bench", "prometheus.yml")[0]["global"]["scrape_interval"]
    assert source["jsonData"]["timeInterval"] == scrapes
    provider = provisioning("dashboards", "konfiscator.yaml", "providers")
    has_keys(provider, PROVIDER, "name", "type", "options")
    has_keys(provider["options"], DIRECTORY, "path")
    assert provider["type"] == "file"
    for wrong in ({"isdefault": True}, {"isDefault": "yes"}):
        try:
            has_keys({**source, **wrong}, DATASOURCE)
        except AssertionError:
            continue
        raise RuntimeError("taken: %s" % wrong)


def the_dashboard_asks_the_datasource_that_there_is(_):
    """All by its variable, which offers sources of that type."""
    with open(os.path.join(PACKAGING, "grafana", "konfiscator-overview.json"),
              encoding="utf-8") as f:
        board = json.load(f)
    source = provisioning("datasources", "prometheus.yaml", "datasources")
    offers, = [v for v in board["templating"]["list"]
               if v["type"] == "datasource"]
    assert offers["query"] == source["type"]
    asks = [v["datasource"] for v in board["templating"]["list"]
            if v["type"] == "query"]
    for panel in board["panels"]:
        if panel["type"] != "row":
            asks += [panel["datasource"]]
            asks += [t["datasource"] for t in panel["targets"]]
    assert len(asks) > 20, len(asks)
    for ask in asks:
        assert ask == {"type": source["type"],
                       "uid": "${%s}" % offers["name"]}, ask


def prometheus_accepts_its_file(world):
    """Where its paths are those of this machine."""
    config, = load("bench", "prometheus.yml")
    for i, rule in enumerate(config["rule_files"]):
        config["rule_files"][i] = os.path.join(
            PACKAGING, "prometheus", os.path.basename(rule))
    path = world.path("prometheus.yml")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    done = subprocess.run(
        [kftest.need("promtool"), "check", "config", path],
        text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("rules found") == len(config["rule_files"])


def kubernetes_knows_every_field(_):
    """Its own client reads each object and writes it again, the same."""
    try:
        from kubernetes.client import ApiClient
    except ImportError as e:
        raise kftest.Skip("python3-kubernetes is missing") from e
    api = ApiClient()
    known = 0
    for kind, o in objects().items():
        if o["apiVersion"] not in ("v1", "apps/v1"):
            continue  # the operator's
        known += 1
        # what it reads is an answer of a server
        answer = type("Answer", (), {"data": json.dumps(o)})
        again = api.sanitize_for_serialization(
            api.deserialize(answer, "V1" + kind))
        assert again == o, (kind, o, again)
    assert known >= 4, known


def compose_mounts_files_there_are(_):
    services = load("bench", "compose.yaml")[0]["services"]
    inside = {}
    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= set(services), name
        for volume in service.get("volumes", ()):
            outside, at, mode = volume.split(":")
            path = os.path.normpath(os.path.join(BENCH, outside))
            assert os.path.exists(path) and mode == "ro", volume
            inside[(name, at)] = path
    for rule in load("bench", "prometheus.yml")[0]["rule_files"]:
        at, file = os.path.split(rule)
        assert os.path.exists(os.path.join(inside["prometheus", at], file))
    grafana = services["grafana"]
    at, file = os.path.split(grafana["environment"][
        "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert os.path.exists(os.path.join(inside["grafana", at], file))
    provider, = load("bench", "grafana", "dashboards", "konfiscator.yaml")[0][
        "providers"]
    assert provider["options"]["path"] == at
    source, = load("bench", "grafana", "datasources", "prometheus.yaml")[0][
        "datasources"]
    host, port = re.match(r"http://(\w+):(\d+)$", source["url"]).groups()
    assert any(p.endswith(":" + port) for p in services[host]["ports"])


kftest.main(
    volumes_are_declared_and_used,
    paths_are_on_a_volume,
    no_container_may_more_than_it_needs,
    the_directory_is_that_of_a_machine,
    exporters_are_started_with_flags_there_are,
    probes_are_answered,
    the_monitor_finds_the_pods,
    the_image_has_what_is_asked_of_it,
    compose_accepts_its_file,
    compose_refuses_what_its_schema_has_not,
    grafana_is_provisioned_with_keys_that_it_has,
    the_dashboard_asks_the_datasource_that_there_is,
    prometheus_accepts_its_file,
    kubernetes_knows_every_field,
    compose_mounts_files_there_are,
)
