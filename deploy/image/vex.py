"""Which known flaws of what is shipped concern us, as OpenVEX: docs/security/flaws.openvex.json, in which each stands with its reason,
and those that Debian's changelogs name, which are mended in the version that is shipped."""

import gzip
import json
import pathlib
import re

import packages
import target
from root_files import Entry

NAME = "usr/share/sbom/vfiogate.openvex.json"
SAID = pathlib.Path(__file__).resolve().parents[2] / "docs/security/flaws.openvex.json"


def named_in_changelog(package: str) -> list[str]:
    """Flaws that the package's changelog names; none where it has none here."""
    place = pathlib.Path(target.file("/usr/share/doc"), packages.facts_of(package)["Package"])
    logs = [place / name for name in ("changelog.Debian.gz", "changelog.gz") if (place / name).exists()]
    text = gzip.decompress(logs[0].read_bytes()).decode(errors="replace") if logs else ""
    return sorted(set(re.findall(r"CVE-\d{4}-\d{4,}", text)))


def mended(flaw: str, package: str, product: str) -> dict:
    facts = packages.facts_of(package)
    return {
        "vulnerability": {"name": flaw, "@id": f"https://nvd.nist.gov/vuln/detail/{flaw}"},
        "products": [{"@id": product, "subcomponents": [{"@id": packages.purl_of(package)}]}],
        "status": "fixed",
        "status_notes": f"Debian's changelog of {facts['source:Package']} {facts['source:Version']} names it.",
    }


def parts(statement: dict) -> set[str]:
    return {part["@id"].rpartition("/")[2] for part in statement["products"][0]["subcomponents"]}


def text_of(files: dict[str, Entry], inside: list[str], named: set[str], version: str, created: str) -> bytes:
    """`files`: what is shipped. `inside`: packages of which the programs have something in them. `named`: the packages in the bill of
    materials; what we judged of others is left out. `created`: as the bill has it."""
    product = f"pkg:generic/vfiogate@{version}"
    document = json.loads(SAID.read_text())
    whole = [entry.package for entry in files.values() if entry.package]
    shipped = {packages.facts_of(package)["Package"]: package for package in [*inside, *whole]}
    document["statements"] = [each for each in document["statements"] if parts(each) & named]
    told = set()
    for statement in document["statements"]:
        told |= {(statement["vulnerability"]["name"], part) for part in parts(statement)}
        for affected in statement["products"]:
            affected["@id"] = product
            affected["subcomponents"] = [part for part in affected["subcomponents"] if part["@id"].rpartition("/")[2] in named]
    for name, package in sorted(shipped.items()):
        document["statements"] += [mended(flaw, package, product) for flaw in named_in_changelog(package) if (flaw, name) not in told]
    document |= {"@id": f"urn:vfiogate:vex:{version}", "timestamp": created}
    return (json.dumps(document, indent=1) + "\n").encode()
