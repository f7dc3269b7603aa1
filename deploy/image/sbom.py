"""The software bill of materials, in SPDX 2.3 as JSON."""

import functools
import hashlib
import json
import pathlib

import compiled_in
import licences
import packages
import root_files
import target
from root_files import Entry

NAME = "usr/share/sbom/vfiogate.spdx.json"
OWN = "SPDXRef-Package-vfiogate"
# What the programs were made with, as far as it is a Debian package.
TOOLS = ("cmake", "ninja-build", "capnproto", "protobuf-compiler", "protobuf-compiler-grpc")


def tools() -> tuple[str, ...]:
    compiler = ("g++-12-aarch64-linux-gnu", "binutils-aarch64-linux-gnu") if target.sysroot else ("g++-12", "binutils")
    return (*compiler, *TOOLS)


def reference(kind: str, text: str) -> str:
    return f"SPDXRef-{kind}-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in text)


def package_entry(package: str, uses: list[str]) -> dict:
    """`uses`: what of it is used, and how."""
    facts = packages.facts_of(package)
    name, version = facts["Package"], facts["Version"]
    declared, said = licences.of_package(package)
    return {
        "SPDXID": reference("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "sourceInfo": f"{facts['source:Package']} {facts['source:Version']}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": declared,
        "licenseComments": said,
        "copyrightText": "NOASSERTION",
        "comment": "; ".join(uses),
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": packages.purl_of(package),
            }
        ],
    }


def own_entry(version: str) -> dict:
    return {
        "SPDXID": OWN,
        "name": "vfiogate",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }


def file_entry(name: str, entry: Entry) -> dict:
    return {
        "SPDXID": reference("File", name),
        "fileName": f"./{name}",
        "checksums": [
            {"algorithm": kind.upper(), "checksumValue": hashlib.new(kind, entry.content).hexdigest()}
            for kind in ("sha1", "sha256")
        ],
        "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def relation(one: str, kind: str, other: str) -> dict:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def id_of(package: str) -> str:
    return reference("Package", packages.facts_of(package)["Package"])


class Parts:
    """Which Debian packages have to do with the programs, and how. LookupError: a file is of none, or a program was stripped."""

    def __init__(self, programs: list[pathlib.Path]):
        objects: dict[str, set[str]] = {}
        for program in programs:
            for path in root_files.loaded_by(program):
                objects.setdefault(path, set()).add(program.name)
        owners = packages.packages_of(sorted(objects))
        self.uses: dict[str, list[str]] = {}
        self.loaded = set(owners.values())
        for path, package in owners.items():
            self.uses.setdefault(package, []).append(f"{path} is loaded by {', '.join(sorted(objects[path]))}")
        self.compiled_in = compiled_in.packages_in(programs) if programs else {}
        for package, paths in self.compiled_in.items():
            self.uses.setdefault(package, []).append(f"code of {len(paths)} files, such as {paths[0]}, is in the programs")
        self.tools = [package for package in map(packages.installed, tools() if programs else ()) if package]
        for package in self.tools:
            self.uses.setdefault(package, []).append("made the programs")

    def relations(self) -> list[dict]:
        return [
            *(relation(OWN, "DEPENDS_ON", id_of(package)) for package in sorted(self.loaded)),
            *(relation(OWN, "STATIC_LINK", id_of(package)) for package in sorted(self.compiled_in)),
            *(relation(id_of(package), "BUILD_TOOL_OF", OWN) for package in self.tools),
        ]


@functools.cache
def parts_of(programs: tuple[pathlib.Path, ...]) -> Parts:
    return Parts(list(programs))


def packages_named(files: dict[str, Entry], programs: list[pathlib.Path]) -> set[str]:
    """The names of all packages that the bill has."""
    used = {entry.package for entry in files.values() if entry.package} | set(parts_of(tuple(programs)).uses)
    return {packages.facts_of(package)["Package"] for package in used}


def text_of(name: str, files: dict[str, Entry], programs: list[pathlib.Path], version: str, created: str) -> bytes:
    """Of every file that is shipped, links apart; of every package that one comes from, that the programs load, and whose code
    is in them; and of the tools that made them. `programs` as they were built, with debugging information; none where all is Debian's. `created`: as SPDX
    writes times."""
    parts = parts_of(tuple(programs))
    uses = {package: list(said) for package, said in parts.uses.items()}
    plain = {path: entry for path, entry in sorted(files.items()) if not entry.link}
    for entry in plain.values():
        if entry.package:
            uses.setdefault(entry.package, ["shipped beside the programs"])
    contained = [relation(id_of(entry.package) if entry.package else OWN, "CONTAINS", reference("File", path))
                 for path, entry in plain.items()]
    others = sorted({entry.package for entry in plain.values() if entry.package} - parts.loaded)
    digest = hashlib.sha256("".join(sorted(plain)).encode() + version.encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"urn:vfiogate:sbom:{name}:{version}:{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: vfiogate-deploy-image"]},
        "packages": [own_entry(version)] + [package_entry(package, uses[package]) for package in sorted(uses)],
        "files": [file_entry(path, entry) for path, entry in plain.items()],
        "relationships": [
            relation("SPDXRef-DOCUMENT", "DESCRIBES", OWN),
            *contained,
            *parts.relations(),
            *(relation(OWN, "DEPENDS_ON", id_of(package)) for package in others),
        ],
    }
    return (json.dumps(document, indent=1) + "\n").encode()
