# SPDX-License-Identifier: LGPL-2.1-or-later
"""make sbom names each shared object that the built files need, and no other, with
the versions of this build; what it writes is SPDX 2.3, and the same each time."""

import glob
import hashlib
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(kftest.SOURCE, "packaging"))

import sbom  # noqa: E402

BUILD = os.environ["top_builddir"]
EPOCH = "1700000000"


def made():
    """The document that make writes."""
    done = subprocess.run(
        ["make", "-s", "-C", BUILD, "sbom"], text=True, capture_output=True,
        env={**{k: v for k, v in os.environ.items()
                if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")},
             "SOURCE_DATE_EPOCH": EPOCH})
    assert done.returncode == 0, done.stderr
    [path] = glob.glob(os.path.join(BUILD, "konfiscator-*.spdx.json"))
    with open(path, encoding="utf-8") as f:
        return f.read()


def products():
    """The files of this build."""
    found = {"library": os.path.realpath(
        os.path.join(BUILD, ".libs", "libkonfiscator.so"))}
    for product, name in (("command", "konfiscator"),
                          ("exporter", "konfiscator_exporter")):
        path = os.path.join(BUILD, ".libs", name)
        found[product] = path if os.path.exists(path) else \
            os.path.join(BUILD, name)
    return found


def needed(path):
    """The shared objects that a file needs, by readelf."""
    text = subprocess.run(["readelf", "-d", path], check=True, text=True,
                          capture_output=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))


def the_table_has_what_the_files_need(_):
    rows = list(sbom.table(kftest.SOURCE))
    for product, path in products().items():
        known = {}
        for row in rows:
            if product in row["users"] and row["how"] == "dynamic":
                known.update((o, row["name"]) for o in row["objects"])
        found = needed(path)
        assert found <= set(known), (product, found - set(known))
        used = {known[o] for o in found}
        assert used == set(known.values()), (product,
                                             set(known.values()) - used)


def the_table_has_what_configure_looks_for(_):
    with open(os.path.join(kftest.SOURCE, "configure.ac"),
              encoding="utf-8") as f:
        wanted = set(re.findall(r"PKG_CHECK_MODULES\(\[\w+\], \[([\w.-]+)",
                                f.read())) - {"check"}
    modules = {row["module"] for row in sbom.table(kftest.SOURCE)}
    # libelf is a part of elfutils
    assert wanted - {"libelf"} <= modules, wanted - modules
    with open(os.path.join(kftest.SOURCE, "exporter", "web", "charts",
                           "package.json"), encoding="utf-8") as f:
        package = json.load(f)
    assert {"npm:" + n for k in ("dependencies", "devDependencies")
            for n in package[k]} == {
        row["name"] for row in sbom.table(kftest.SOURCE)
        if row["name"].startswith("npm:")}


def the_document_is_of_this_build(_):
    text = made()
    document = json.loads(text)
    assert document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    packages = {p["name"]: p for p in document["packages"]}
    assert set(packages) == {"konfiscator"} | {
        row["name"].split(":")[-1] for row in sbom.table(kftest.SOURCE)}
    zlib = subprocess.run(["pkg-config", "--modversion", "zlib"], check=True,
                          text=True, capture_output=True).stdout.strip()
    assert packages["zlib"]["versionInfo"] == zlib
    assert packages["glibc"]["versionInfo"] == os.confstr(
        "CS_GNU_LIBC_VERSION").split()[1]
    assert packages["uplot"]["externalRefs"][0]["referenceLocator"] == \
        "pkg:npm/uplot@" + packages["uplot"]["versionInfo"]
    assert "versionInfo" not in packages["libiberty"]
    files = {f["SPDXID"]: f for f in document["files"]}
    for product, path in products().items():
        with open(path, "rb") as f:
            content = f.read()
        sums = {c["algorithm"]: c["checksumValue"]
                for c in files["SPDXRef-" + product]["checksums"]}
        assert sums == {"SHA1": hashlib.sha1(content).hexdigest(),
                        "SHA256": hashlib.sha256(content).hexdigest()}, product
    assert made() == text


def the_document_is_spdx(_):
    """What SPDX 2.3 requires of a document, a package, a file, a relationship."""
    document = json.loads(made())
    for key in ("spdxVersion", "dataLicense", "SPDXID", "name",
                "documentNamespace", "creationInfo"):
        assert document[key], key
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["dataLicense"] == "CC0-1.0"
    assert re.fullmatch(r"https://[^#\s]+", document["documentNamespace"])
    for creator in document["creationInfo"]["creators"]:
        assert re.match(r"(Tool|Organization|Person): \S", creator), creator
    ids = ["SPDXRef-DOCUMENT"]
    for p in document["packages"]:
        assert p["downloadLocation"] and p["name"], p
        assert p["primaryPackagePurpose"] in ("APPLICATION", "LIBRARY"), p
        ids.append(p["SPDXID"])
    for f in document["files"]:
        assert f["fileName"].startswith("./"), f
        assert "SHA1" in {c["algorithm"] for c in f["checksums"]}, f
        ids.append(f["SPDXID"])
    assert len(ids) == len(set(ids)), ids
    for one in ids:
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one), one
    related = set()
    for r in document["relationships"]:
        related |= {r["spdxElementId"], r["relatedSpdxElement"]}
        assert r["relationshipType"] in (
            "DESCRIBES", "CONTAINS", "DYNAMIC_LINK", "STATIC_LINK",
            "BUILD_DEPENDENCY_OF", "BUILD_TOOL_OF"), r
    assert related == set(ids), related ^ set(ids)


kftest.main(
    the_table_has_what_the_files_need,
    the_table_has_what_configure_looks_for,
    the_document_is_of_this_build,
    the_document_is_spdx,
)
