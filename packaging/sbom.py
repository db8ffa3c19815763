# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bill of materials of a build, SPDX 2.3 as JSON on stdout.

    sbom.py SOURCE VERSION EPOCH PRODUCT=FILE...

PRODUCT is one of library, command, exporter; FILE is what was built. Versions are
those of pkg-config; what is not known is left out or NOASSERTION. Two runs on equal
files are equal."""

import hashlib
import json
import os
import subprocess
import sys
import time

LICENCES = {"library": "LGPL-2.1-or-later", "command": "LGPL-2.1-or-later",
            "exporter": "LGPL-2.1-or-later AND MIT"}
RELATIONS = {"dynamic": "DYNAMIC_LINK", "static": "STATIC_LINK",
             "inside": "CONTAINS", "header": "BUILD_DEPENDENCY_OF",
             "tool": "BUILD_TOOL_OF"}


def table(source):
    """The rows of dependencies.tsv."""
    with open(os.path.join(source, "packaging", "dependencies.tsv"),
              encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                continue
            name, licence, how, users, module, objects = line.split("\t")
            yield {"name": name, "licence": licence, "how": how,
                   "users": users.split(), "module": module,
                   "objects": objects.split()}


def told(*command):
    """The first line that a program prints, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return (done.stdout.splitlines() or [None])[0]


def version_of(source, row):
    """The version in this build, or None."""
    name = row["name"]
    if name.startswith("npm:"):
        with open(os.path.join(source, "exporter", "web", "charts",
                               "package.json"), encoding="utf-8") as f:
            package = json.load(f)
        return {**package["dependencies"],
                **package["devDependencies"]}[name[4:]]
    if name == "glibc":
        libc = told("getconf", "GNU_LIBC_VERSION")
        return libc and libc.split()[-1]
    if row["module"] == "-":
        return None
    return told(os.environ.get("PKG_CONFIG", "pkg-config"), "--modversion",
                row["module"])


def package(identifier, name, version, licence, purpose, purl=None):
    found = {"SPDXID": identifier, "name": name,
             "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
             "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
             "copyrightText": "NOASSERTION", "primaryPackagePurpose": purpose}
    if version:
        found["versionInfo"] = version
    if purl:
        found["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": purl}]
    return found


def dependency(source, row):
    kind, _, name = row["name"].rpartition(":")
    version = version_of(source, row)
    purl = "pkg:%s/%s%s" % (kind or "generic", name,
                            "@" + version if version else "")
    purpose = "APPLICATION" if row["how"] == "tool" else "LIBRARY"
    return package("SPDXRef-dependency-" + name, name, version, row["licence"],
                   purpose, purl)


def built(product, path):
    with open(path, "rb") as f:
        content = f.read()
    return {"SPDXID": "SPDXRef-" + product,
            "fileName": "./" + os.path.basename(path),
            "fileTypes": ["BINARY"],
            "checksums": [
                {"algorithm": "SHA1",
                 "checksumValue": hashlib.sha1(content).hexdigest()},
                {"algorithm": "SHA256",
                 "checksumValue": hashlib.sha256(content).hexdigest()}],
            "licenseConcluded": LICENCES[product],
            "licenseInfoInFiles": ["NOASSERTION"],
            "copyrightText": "NOASSERTION"}


def relation(one, kind, other):
    if kind.endswith("_OF"):
        one, other = other, one
    return {"spdxElementId": one, "relationshipType": kind,
            "relatedSpdxElement": other}


def document(source, version, epoch, products):
    ours = package("SPDXRef-konfiscator", "konfiscator", version,
                   "LGPL-2.1-or-later AND BSD-2-Clause AND MIT", "APPLICATION")
    found = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
             "SPDXID": "SPDXRef-DOCUMENT", "name": "konfiscator-" + version,
             "packages": [ours], "files": [], "relationships": [
                 relation("SPDXRef-DOCUMENT", "DESCRIBES", ours["SPDXID"])]}
    for product, path in products.items():
        found["files"].append(built(product, path))
        found["relationships"].append(relation(
            ours["SPDXID"], "CONTAINS", "SPDXRef-" + product))
    for row in table(source):
        users = [user for user in row["users"] if user in products]
        if not users:
            continue
        found["packages"].append(dependency(source, row))
        for user in users:
            found["relationships"].append(relation(
                "SPDXRef-" + user, RELATIONS[row["how"]],
                found["packages"][-1]["SPDXID"]))
    name = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    found["documentNamespace"] = "https://example.org/spdx/%s-%s" % (
        found["name"], name)
    found["creationInfo"] = {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
        "creators": ["Tool: konfiscator-sbom-" + version]}
    return found


def main(source, version, epoch, *products):
    json.dump(document(source, version, int(epoch),
                       dict(p.split("=", 1) for p in products)),
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
