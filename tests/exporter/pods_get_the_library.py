# SPDX-License-Identifier: LGPL-2.1-or-later
"""The injector's patches, applied as RFC 6902 says, make valid pods in which
each chosen container has the library once; what is odd is allowed unchanged,
with a warning; a body that is no review gets 400 and one line."""

import base64
import copy
import http.client
import itertools
import json
import os
import random
import socket
import subprocess

import kftest
import kfweb

IMAGE = "registry.example/konfiscator:0.1.0"
FLAGS = ["--injector", "--injector.image=" + IMAGE]
OURS = "/konfiscator/lib/$LIB/libkonfiscator.so.1"
INJECT = "konfiscator.io/inject"
NAMES = "konfiscator.io/container-names"
LIBC = "konfiscator.io/libc"
PODS = 400


def post(exporter, body, path="/inject?timeout=3s", context=None):
    if context:
        c = http.client.HTTPSConnection("localhost", exporter.port,
                                        context=context,
                                        timeout=kftest.PATIENCE)
    else:
        c = http.client.HTTPConnection("127.0.0.1", exporter.port,
                                       timeout=kftest.PATIENCE)
    try:
        c.request("POST", path, body, {"Content-Type": "application/json"})
        response = c.getresponse()
        return response.status, response.read()
    finally:
        c.close()


def review(pod, **changes):
    request = {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
               "kind": {"group": "", "version": "v1", "kind": "Pod"},
               "resource": {"group": "", "version": "v1", "resource": "pods"},
               "namespace": "shop", "operation": "CREATE", "object": pod,
               "userInfo": {"username": "admin"}, "dryRun": False}
    request.update(changes)
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": request}


def asked(exporter, pod, context=None, **changes):
    """Patch (a list, empty for none) and warnings of the answer."""
    sent = review(pod, **changes)
    status, body = post(exporter, json.dumps(sent), context=context)
    assert status == 200, (status, body, pod)
    answer = json.loads(body)
    assert set(answer) == {"apiVersion", "kind", "response"}, answer
    assert answer["apiVersion"] == "admission.k8s.io/v1"
    assert answer["kind"] == "AdmissionReview"
    response = answer["response"]
    assert response.pop("uid") == sent["request"]["uid"]
    assert response.pop("allowed") is True
    warnings = response.pop("warnings", [])
    patch = []
    if response:
        assert response.pop("patchType") == "JSONPatch"
        patch = json.loads(base64.b64decode(response.pop("patch"),
                                            validate=True))
        assert patch
    assert not response, response
    for w in warnings:
        assert w.startswith("konfiscator: ") and w.isprintable(), w
        assert len(w.encode()) <= 256, w
    return patch, warnings


def applied(pod, patch):
    """RFC 6902, the operation add; an error where it demands one."""
    pod = copy.deepcopy(pod)
    for operation in patch:
        assert set(operation) == {"op", "path", "value"}, operation
        assert operation["op"] == "add"
        first, *way, last = [p.replace("~1", "/").replace("~0", "~")
                             for p in operation["path"].split("/")]
        assert first == ""
        at = pod
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        value = copy.deepcopy(operation["value"])
        if isinstance(at, list):
            index = len(at) if last == "-" else int(last)
            assert 0 <= index <= len(at), operation
            at.insert(index, value)
        else:
            assert isinstance(at, dict), operation
            at[last] = value
    return pod


def check_valid(pod):
    """What the API server demands of names, volumes and variables."""
    spec = pod["spec"]
    inits = spec.get("initContainers") or []
    names = [c["name"] for c in inits + spec["containers"]]
    assert len(set(names)) == len(names), names
    volumes = [v["name"] for v in spec.get("volumes") or []]
    assert len(set(volumes)) == len(volumes), volumes
    for c in inits + spec["containers"]:
        mounts = c.get("volumeMounts") or []
        assert {m["name"] for m in mounts} <= set(volumes), mounts
        paths = [m["mountPath"] for m in mounts]
        assert len(set(paths)) == len(paths), paths
        for e in c.get("env") or []:
            assert e["name"] and not ("value" in e and "valueFrom" in e), e


def ours(name):
    return name.startswith("konfiscator-")


def without_ours(pod):
    """The pod as it was, if the patch only added what is ours."""
    pod = copy.deepcopy(pod)
    spec = pod["spec"]
    for where, key in [(spec, "volumes"), (spec, "initContainers")] + [
            (c, key) for c in spec["containers"]
            for key in ("env", "volumeMounts")]:
        kept = []
        for item in where.pop(key, None) or []:
            if item["name"] == "LD_PRELOAD" and "value" in item:
                head, _, tail = item["value"].partition(":")
                if head == OURS:
                    item = dict(item, value=tail)
            if not ours(item["name"]) and (item["name"], item.get("value", "")) not in (
                    ("LD_PRELOAD", ""), ("KONFISCATOR_DIR", "/konfiscator/stats")):
                kept.append(item)
        if kept:
            where[key] = kept
    return pod


def preloads(container):
    return [e for e in container.get("env") or [] if e["name"] == "LD_PRELOAD"]


def check_pod(exporter, pod, wanted):
    """The containers of these names get the library, and no others."""
    patch, warnings = asked(exporter, pod)
    made = applied(pod, patch)
    check_valid(made)
    assert without_ours(made) == without_ours(pod), patch
    got = set()
    for before, c in zip(pod["spec"]["containers"], made["spec"]["containers"]):
        if c == before:
            continue
        got.add(c["name"])
        [ours_now] = preloads(c)
        old = "".join(e.get("value", "") for e in preloads(before))
        assert ours_now["value"] == OURS + (":" + old if old else "")
        mounts = {m["name"]: m for m in c["volumeMounts"]}
        assert mounts["konfiscator-lib"]["mountPath"] == "/konfiscator/lib"
        assert mounts["konfiscator-lib"]["readOnly"] is True
        assert mounts["konfiscator-stats"]["mountPath"] == "/konfiscator/stats"
        [_] = [e for e in c["env"] if e["name"] == "KONFISCATOR_DIR"]
    assert got == set(wanted), (got, wanted, warnings, pod)
    assert bool(got) == bool(patch)
    if got:
        check_init(made, pod, got)
    again, same = asked(exporter, made)
    assert not again, (again, same)
    return patch, warnings


def check_init(made, pod, got):
    init = made["spec"]["initContainers"][0]
    assert init["name"] == "konfiscator-library" and init["image"] == IMAGE
    context = init["securityContext"]
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["runAsNonRoot"] is True and context["runAsUser"] > 0
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    first = [c for c in pod["spec"]["containers"] if c["name"] in got][0]
    resources = first.get("resources") or {}
    for kind in ("requests", "limits"):
        # the class of service stays, and devices are not asked for twice
        assert init["resources"].get(kind, {}) == {
            k: v for k, v in (resources.get(kind) or {}).items()
            if k != "nvidia.com/gpu"}, init
    # $(X) would be expanded by the kubelet
    assert "$(" not in init["command"][2]


def pod_of(*containers, annotations=None, **spec):
    annotations = {INJECT: "true"} if annotations is None else annotations
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"generateName": "p-", "annotations": annotations},
            "spec": dict(spec, containers=list(containers))}


def container(name="app", **more):
    return dict(more, name=name, image="python:3-slim")


ENVS = ([], None, [{"name": "A", "value": "b"}],
        [{"name": "LD_PRELOAD", "value": "/a.so /b.so"}, {"name": "Z"}],
        [{"name": "A"}, {"name": "LD_PRELOAD", "value": "$(A)/x.so:/y.so"}],
        [{"name": "LD_PRELOAD"}], [{"name": "LD_PRELOAD", "value": ""}],
        [{"name": "KONFISCATOR_DIR", "value": "/mine"}])
BAD_ENVS = ([{"name": "LD_PRELOAD", "valueFrom": {
                "configMapKeyRef": {"name": "c", "key": "k"}}}],
            [{"name": "LD_PRELOAD", "value": "/a.so"},
             {"name": "LD_PRELOAD", "value": "/b.so"}],
            [{"name": "LD_PRELOAD", "value": "x" * 70000}])
PRESENT = [{"name": "LD_PRELOAD", "value": "/opt/libkonfiscator.so.1"}]
MOUNTS = ([], None, [{"name": "data", "mountPath": "/data"}],
          [{"name": "data", "mountPath": "/konfiscators"}])
BAD_MOUNTS = ([{"name": "data", "mountPath": "/konfiscator"}],
              [{"name": "data", "mountPath": "/konfiscator/lib"}],
              [{"name": "data", "mountPath": "/konfiscator/lib/"}])
CONTEXTS = ({}, {"runAsNonRoot": True, "readOnlyRootFilesystem": True},
            {"runAsUser": 1000650000}, {"runAsUser": 0}, {"privileged": True})
RESOURCES = ({}, {"limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": 1},
                  "requests": {"cpu": "1", "memory": "1Gi"}},
             {"requests": {"cpu": 1, "ephemeral-storage": "1Gi"}})


def generated(rng):
    """A pod and the names of the containers that get the library."""
    wanted, containers = [], []
    bad = set()
    for n in range(rng.choice([1, 1, 2, 5])):
        c = container(rng.choice(["app%d", "x" * 60 + "-%d"]) % n,
                      securityContext=rng.choice(CONTEXTS),
                      resources=rng.choice(RESOURCES))
        kind = rng.random()
        if kind < 0.15:
            c["env"] = rng.choice(BAD_ENVS)
            bad.add(c["name"])
        elif kind < 0.25:
            c["volumeMounts"] = rng.choice(BAD_MOUNTS)
            bad.add(c["name"])
        for key, choice in (("env", ENVS), ("volumeMounts", MOUNTS)):
            if key not in c and rng.random() < 0.8:
                c[key] = rng.choice(choice)
        containers.append(c)
    names = [c["name"] for c in containers]
    annotations = {INJECT: "true", "a/b": "c"}
    way = rng.randrange(4)
    if way == 0:
        wanted = names[:1]
    elif way == 1:
        annotations[NAMES], wanted = "*", names
    elif way == 2:
        wanted = rng.sample(names, rng.randint(1, len(names)))
        annotations[NAMES] = rng.choice([",", ", "]).join(wanted)
    else:
        wanted = [rng.choice(names)]
        annotations["kubectl.kubernetes.io/default-container"] = wanted[0]
    if rng.random() < 0.2:
        annotations[LIBC] = "glibc"
    spec = {"volumes": [{"name": "data", "emptyDir": {}}]}
    if rng.random() < 0.5:
        spec["initContainers"] = rng.choice(
            ([], None, [container("setup")],
             [container("mesh", restartPolicy="Always"), container("setup")]))
    spec.update(rng.choice(({}, {"hostPID": True}, {"os": {"name": "linux"}},
                            {"nodeSelector": {"kubernetes.io/os": "linux"}},
                            {"shareProcessNamespace": True}, {
                                "securityContext": {"runAsUser": 5,
                                                    "runAsNonRoot": True}})))
    # as JSON, so that no two containers share a list
    pod = json.loads(json.dumps(
        pod_of(*containers, annotations=annotations, **spec)))
    return pod, [n for n in wanted if n not in bad], [
        n for n in wanted if n in bad]


def generated_pods_are_patched(world):
    exporter = world.exporter(*FLAGS)
    rng = random.Random(2026)
    changed = refused = 0
    for _ in range(PODS):
        pod, wanted, bad = generated(rng)
        _, warnings = check_pod(exporter, pod, wanted)
        assert len(warnings) == len(bad), (warnings, bad)
        for name in bad:
            assert any("container %s: " % name in w for w in warnings), warnings
        changed += bool(wanted)
        refused += bool(bad)
    assert changed > PODS / 2 and refused > PODS / 10, (changed, refused)
    page = exporter.scrape()
    assert page.get("konfiscator_http_requests_total", handler="inject",
                    code="200") == 2 * PODS


def other_pods_are_left_alone(world):
    exporter = world.exporter(*FLAGS)
    for annotations in ({}, {INJECT: "false"}, {NAMES: "app"}):
        assert asked(exporter, pod_of(container(),
                                      annotations=annotations)) == ([], [])
    assert asked(exporter, pod_of(container(env=PRESENT))) == ([], [])
    # nor is a second container chosen when the first has the library
    assert asked(exporter, pod_of(container("new"), container(
        env=PRESENT))) == ([], [])
    pod = pod_of(container(), container("side"), annotations={
        INJECT: "true", NAMES: "app"})
    patch, _ = asked(exporter, pod)
    made = applied(pod, patch)
    # a name that is added later needs no second volume
    made["metadata"]["annotations"][NAMES] = "app,side"
    check_pod(exporter, made, ["side"])


def what_is_odd_is_allowed_with_a_warning(world):
    exporter = world.exporter(*FLAGS)
    for pod, word in (
            (pod_of(container(), annotations={INJECT: "yes"}), "'yes'"),
            (pod_of(container(), annotations={INJECT: "\x1b[31m\n"}), INJECT),
            (pod_of(container(), annotations={
                INJECT: "true", LIBC: "musl"}), "musl"),
            (pod_of(container(), annotations={
                INJECT: "true", LIBC: "bionic"}), "'bionic'"),
            (pod_of(container(), annotations={
                INJECT: "true", NAMES: "other"}), "'other'"),
            (pod_of(container(), annotations={
                INJECT: "true", NAMES: "n" * 9000}), "'nnn"),
            (pod_of(container(), annotations={
                INJECT: "true", "kubernetes.io/config.mirror": "x"}), "static"),
            (pod_of(container(), nodeSelector={
                "kubernetes.io/os": "windows"}), "Linux"),
            (pod_of(container(), os={"name": "windows"}), "Linux"),
            (pod_of(container(), volumes=[{
                "name": "konfiscator-lib", "secret": {}}]), "another volume"),
            (pod_of(container(), initContainers=[
                container("konfiscator-library")]), "another container"),
            (pod_of(container(), container("konfiscator-library")),
             "another container"),
            (pod_of(), "spec.containers"), (pod_of("app"), "spec.containers"),
            (pod_of(container(), volumes={}), "spec.volumes"),
            (pod_of(container(), volumes=[1]), "spec.volumes"),
            (pod_of(container(), initContainers="x"), "spec.initContainers"),
            (pod_of(container(env={})), "env is not"),
            (pod_of(container(env=["LD_PRELOAD"])), "env is not"),
            (pod_of(container(volumeMounts="x")), "volumeMounts is not"),
            (pod_of(container(env=[{"name": "LD_PRELOAD", "value": 1}])),
             "not a string"),
            (pod_of(container("\x1b[2Jé" * 90, env={})), "env is not")):
        patch, warnings = asked(exporter, pod)
        assert not patch, (patch, pod)
        assert len(warnings) == 1 and word in warnings[0], (warnings, word)
    for changes, word in (
            ({"operation": "UPDATE"}, "created"), ({"operation": 1}, "created"),
            ({"kind": {"group": "", "kind": "Service"}}, "only pods"),
            ({"kind": {"group": "x", "kind": "Pod"}}, "only pods"),
            ({"kind": "Pod"}, "only pods"),
            ({"subResource": "ephemeralcontainers"}, "only pods")):
        patch, warnings = asked(exporter, pod_of(container()), **changes)
        assert not patch and word in warnings[0], (warnings, word)
    # a variable that is not in the pod cannot be joined
    patch, [warning] = asked(exporter, pod_of(container(envFrom=[{
        "configMapRef": {"name": "c"}}])))
    assert patch and "envFrom" in warning


def wrong_types_are_allowed(world):
    """Each value of a pod is replaced by each kind of value."""
    exporter = world.exporter(*FLAGS)
    pod, _, _ = generated(random.Random(7))
    pod["spec"]["containers"] = [container(
        env=[{"name": "LD_PRELOAD", "value": "/a.so"}], resources={
            "limits": {"cpu": "1"}}, securityContext={"runAsUser": 7},
        volumeMounts=[{"name": "data", "mountPath": "/data"}])]
    pod["metadata"]["annotations"] = {INJECT: "true", NAMES: "*", LIBC: "glibc"}
    pod["spec"]["nodeSelector"] = {"kubernetes.io/os": "linux"}

    def places(value, at=()):
        yield at
        for key, inner in (value.items() if isinstance(value, dict) else
                           enumerate(value) if isinstance(value, list) else ()):
            yield from places(inner, at + (key,))
    tried = 0
    for at, odd in itertools.product(list(places(pod)), (
            None, True, -1, 1e300, "", "é\x7f", [], [None], [[]], {}, {"": 1})):
        whole = {"pod": copy.deepcopy(pod)}
        inner = whole
        for step in ("pod",) + at[:-1] if at else ():
            inner = inner[step]
        inner[at[-1] if at else "pod"] = odd
        patch, _ = asked(exporter, whole["pod"])
        applied(whole["pod"], patch)
        tried += 1
    assert tried > 300, tried


def a_body_that_is_no_review_gets_400(world):
    exporter = world.exporter(*FLAGS)
    whole = json.dumps(review(pod_of(container())))
    wrong = dict(review(pod_of(container())))
    bodies = [b"", b"{", b"null", b"[]", b"\0", b"\xff\xfe", whole[:-1],
              whole[:len(whole) // 2], whole + "}", "[" * 100000,
              '{"a":' * 5000 + "1" + "}" * 5000, "7",
              whole.replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1"),
              whole.replace("AdmissionReview", "Pod"),
              json.dumps(dict(wrong, request=[])),
              json.dumps(dict(wrong, request=None)),
              json.dumps(review({}, uid="")), json.dumps(review({}, uid=5)),
              '{"a":1,"a":2}', " " * (4 << 20) + whole]
    for body in bodies:
        status, text = post(exporter, body)
        assert status == 400, (status, text, body[:80])
        assert text.count(b"\n") == 1 and text.endswith(b"\n"), text
    # a large pod is none of them
    pod = pod_of(container())
    pod["metadata"]["annotations"]["a"] = "x" * (3 << 20)
    patch, _ = asked(exporter, pod)
    assert patch
    # who leaves in the middle takes nothing along
    with socket.create_connection(("127.0.0.1", exporter.port)) as s:
        s.sendall(b"POST /inject HTTP/1.1\r\nHost: x\r\n"
                  b"Content-Length: 4000000\r\n\r\n{")
    assert exporter.request("/inject")[0] == 405
    assert exporter.request("/-/healthy")[0] == 200


def only_the_flag_serves_it(world):
    exporter = world.exporter()
    assert post(exporter, "{}")[0] in (404, 405)
    kftest.refuses("--injector.image", "--injector")
    for image in ("", "a b", "x;y", "$(x)", "a" * 600):
        done = subprocess.run(
            [kftest.EXPORTER, "--injector", "--injector.image=" + image],
            text=True, capture_output=True, timeout=kftest.PATIENCE)
        assert done.returncode == 2 and "name of an image" in done.stderr


def the_api_server_comes_by_https(world):
    kfweb.make_ca(world, "ca")
    kfweb.make_cert(world, "ca", "server", "serverAuth")
    exporter = world.exporter(kfweb.config(world, kfweb.TLS), *FLAGS)
    patch, _ = asked(exporter, pod_of(container()),
                     context=kfweb.client(world))
    assert patch
    exporter.says("pod gets the library")


def the_init_container_copies_what_is_preloaded(world):
    """Its command, with the built library in place of the image's, makes the path
    of LD_PRELOAD whole for this machine's loader; without the library it ends
    well too, and the program starts."""
    exporter = world.exporter(*FLAGS)
    patch, _ = asked(exporter, pod_of(container()))
    command = applied(pod_of(container()), patch)[
        "spec"]["initContainers"][0]["command"]
    source = command[2].split("cp -f ")[1].split()[0]
    assert source.endswith("/libkonfiscator.so.1"), source
    built = os.path.join(os.environ["top_builddir"],
                         ".libs/libkonfiscator.so.1")
    for library, maps in ((os.path.abspath(built), True), ("/none", False)):
        target = world.path("lib" + str(maps))
        os.mkdir(target)
        script = command[2].replace(source, library).replace(
            "/konfiscator/lib", target)
        for _ in range(2):
            done = subprocess.run(command[:2] + [script], text=True,
                                  capture_output=True, timeout=60)
            assert done.returncode == 0, done
        assert ("without the library" in done.stderr) != maps
        preload = OURS.replace("/konfiscator/lib", target)
        done = subprocess.run(["cat", "/proc/self/maps"], text=True, env=dict(
            os.environ, LD_PRELOAD=preload, KONFISCATOR_DIR=world.stats),
            capture_output=True, timeout=60)
        assert done.returncode == 0
        assert ("libkonfiscator.so" in done.stdout) == maps, done


kftest.main(
    generated_pods_are_patched,
    other_pods_are_left_alone,
    what_is_odd_is_allowed_with_a_warning,
    wrong_types_are_allowed,
    a_body_that_is_no_review_gets_400,
    only_the_flag_serves_it,
    the_api_server_comes_by_https,
    the_init_container_copies_what_is_preloaded,
)
