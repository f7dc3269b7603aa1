"""The software bill of materials, in SPDX 2.3 as JSON."""

import hashlib
import json

import packages
from root_files import Entry

NAME = "usr/share/sbom/vfiogate.spdx.json"


def reference(kind: str, text: str) -> str:
    return f"SPDXRef-{kind}-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in text)


def package_entry(package: str) -> dict:
    facts = packages.facts_of(package)
    name, version = facts["Package"], facts["Version"]
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}"
    return {
        "SPDXID": reference("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "sourceInfo": f"{facts['source:Package']} {facts['source:Version']}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseComments": f"/usr/share/doc/{name}/copyright",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"{purl}?arch={facts['Architecture']}",
            }
        ],
    }


def own_entry(version: str) -> dict:
    return {
        "SPDXID": reference("Package", "vfiogate"),
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


def text_of(files: dict[str, Entry], version: str, created: str) -> bytes:
    """Of every file of the image, links apart, and every package that one comes from. `created`: as
    SPDX writes times."""
    plain = {name: entry for name, entry in sorted(files.items()) if not entry.link}
    own = reference("Package", "vfiogate")
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    for name, entry in plain.items():
        owner = reference("Package", packages.facts_of(entry.package)["Package"]) if entry.package else own
        relations.append(relation(owner, "CONTAINS", reference("File", name)))
    used = sorted({entry.package for entry in plain.values() if entry.package})
    for package in used:
        other = reference("Package", packages.facts_of(package)["Package"])
        relations.append(relation(own, "DEPENDS_ON", other))
    digest = hashlib.sha256("".join(sorted(plain)).encode() + version.encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"vfiogate-{version}",
        "documentNamespace": f"urn:vfiogate:sbom:{version}:{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: vfiogate-deploy-image"]},
        "packages": [own_entry(version)] + [package_entry(package) for package in used],
        "files": [file_entry(name, entry) for name, entry in plain.items()],
        "relationships": relations,
    }
    return (json.dumps(document, indent=1) + "\n").encode()
