# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manifests for Kubernetes are YAML of the kinds they should be, and give
the exporter no flag that it does not have."""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests/exporter"))
import kftest  # noqa: E402


def manifests_are_yaml_and_their_flags_exist(world):
    try:
        import yaml
    except ImportError:
        raise kftest.Skip("python3-yaml is missing") from None
    said = subprocess.run([kftest.EXPORTER, "--help"], check=True,
                          capture_output=True, text=True).stdout
    flags = set(re.findall(r"^  --([a-z.-]+)", said, re.M))
    kinds = set()
    for path in glob.glob(kftest.SOURCE + "/packaging/kubernetes/*.yaml"):
        with open(path) as f:
            text = f.read()
        document = yaml.safe_load(text)
        kinds.add(document["kind"])
        assert document["apiVersion"] and document["metadata"]["name"], path
        for flag in re.findall(r"--([a-z]+\.[a-z.-]+)", text):
            assert flag in flags, (path, flag)
    assert kinds == {"DaemonSet", "Pod", "PodMonitor"}, kinds


kftest.main(manifests_are_yaml_and_their_flags_exist)
