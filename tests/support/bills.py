"""The shape of a bill of materials (SPDX 2.3, JSON) and of a list of flaws (OpenVEX 0.2.0), as far as ours use them. What is wrong,
in words; nothing: it is well-formed."""

import re

RELATIONS = {"DESCRIBES", "CONTAINS", "DEPENDS_ON", "STATIC_LINK", "BUILD_TOOL_OF"}
SPDX_ID = r"SPDXRef-[A-Za-z0-9.-]+"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
LICENCE = r"NOASSERTION|[A-Za-z0-9.+-]+|\(?[A-Za-z0-9.+() -]+\)?"
OF_DOCUMENT = {"spdxVersion": r"SPDX-2\.3", "dataLicense": r"CC0-1\.0", "SPDXID": "SPDXRef-DOCUMENT", "name": r"\S+", "documentNamespace": r"\w+:\S+"}
OF_PACKAGE = {"SPDXID": SPDX_ID, "name": r"[a-z0-9][a-z0-9.+-]+", "versionInfo": r"\S+", "downloadLocation": r"\S+", "licenseConcluded": LICENCE,
              "licenseDeclared": LICENCE, "copyrightText": r"\S+"}
OF_FILE = {"SPDXID": SPDX_ID, "fileName": r"\./\S+"}
PURL = r"pkg:deb/debian/[a-z0-9][a-z0-9.%A-F+-]*(@[A-Za-z0-9.%~-]+\?arch=\w+)?|pkg:generic/vfiogate(@\S+)?"
STATUSES = {"not_affected": "impact_statement", "affected": "action_statement", "fixed": "status_notes", "under_investigation": "status_notes"}
JUSTIFICATIONS = {"component_not_present", "vulnerable_code_not_present", "vulnerable_code_not_in_execute_path",
                  "vulnerable_code_cannot_be_controlled_by_adversary", "inline_mitigations_already_exist"}


def ill_formed(what: str, part: dict, fields: dict[str, str]) -> list[str]:
    return [f"{what}: {name} is {part.get(name)!r}" for name, form in fields.items() if not re.fullmatch(form, str(part.get(name)))]


def bill_faults(bill: dict) -> list[str]:
    found = ill_formed("the document", bill, OF_DOCUMENT)
    found += [] if re.fullmatch(TIME, bill["creationInfo"]["created"]) and bill["creationInfo"]["creators"] else ["no creation"]
    ids = ["SPDXRef-DOCUMENT"]
    for package in bill["packages"]:
        found += ill_formed(f"package {package.get('name')}", package, OF_PACKAGE)
        found += [f"{package['name']}: {reference['referenceLocator']}" for reference in package.get("externalRefs", [])
                  if reference["referenceCategory"] != "PACKAGE-MANAGER" or not re.fullmatch(PURL, reference["referenceLocator"])]
        ids.append(package.get("SPDXID"))
    for file in bill["files"]:
        found += ill_formed(f"file {file.get('fileName')}", file, OF_FILE)
        sums = {entry["algorithm"]: entry["checksumValue"] for entry in file["checksums"]}
        found += [] if re.fullmatch("[0-9a-f]{40}", sums.get("SHA1", "")) and re.fullmatch("[0-9a-f]{64}", sums.get("SHA256", "")) else [
            f"{file['fileName']}: checksums"]
        ids.append(file.get("SPDXID"))
    found += [f"{name} stands twice" for name in {name for name in ids if ids.count(name) > 1}]
    for relation in bill["relationships"]:
        ends = {relation["spdxElementId"], relation["relatedSpdxElement"]}
        found += [] if relation["relationshipType"] in RELATIONS and ends <= set(ids) else [f"relation {relation}"]
    return found


def components(statement: dict) -> list[str]:
    """Names of the packages that it speaks of."""
    purls = [part["@id"] for product in statement["products"] for part in product["subcomponents"]]
    return [re.sub(r"%2B", "+", re.sub(r"@.*", "", purl.rpartition("debian/")[2])) for purl in purls]


def flaw_faults(document: dict) -> list[str]:
    found = [] if document["@context"] == "https://openvex.dev/ns/v0.2.0" else ["@context"]
    found += ill_formed("the document", document, {"@id": r"\w+:\S+", "author": r".+", "timestamp": TIME, "version": r"\d+"})
    said = []
    for statement in document["statements"]:
        name, status = statement["vulnerability"]["name"], statement["status"]
        found += [] if statement.get(STATUSES.get(status, ""), "") else [f"{name}: {status} without {STATUSES.get(status)}"]
        found += [f"{name}: not_affected for no reason that there is"] if (
            status == "not_affected" and statement.get("justification") not in JUSTIFICATIONS) else []
        purls = [part["@id"] for product in statement["products"] for part in [product, *product["subcomponents"]]]
        found += [f"{name}: {purl}" for purl in purls if not re.fullmatch(PURL, purl)]
        said += [(name, component) for component in components(statement)]
    return found + [f"{name} of {component} is judged twice" for name, component in {one for one in said if said.count(one) > 1}]


def check_the_checker() -> None:
    statement = {"vulnerability": {"name": "CVE-1"}, "status": "not_affected", "impact_statement": "no", "justification": "because",
                 "products": [{"@id": "pkg:generic/vfiogate", "subcomponents": [{"@id": "pkg:deb/debian/libc6"}, {"@id": "libc6"}]}]}
    document = {"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:x", "author": "a", "timestamp": "2026-11-22T00:00:00Z", "version": 1,
                "statements": [statement, statement | {"status": "affected"}]}
    assert len(flaw_faults(document)) == 5, flaw_faults(document)
    relation = {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-gone"}
    package = {"SPDXID": "SPDXRef-a", "name": "A", "versionInfo": "", "externalRefs": [{"referenceCategory": "X", "referenceLocator": "y"}]}
    bill = {"creationInfo": {"created": "now", "creators": []}, "packages": [package, package], "relationships": [relation],
            "files": [{"SPDXID": "SPDXRef-f", "fileName": "f", "checksums": []}]}
    assert len(bill_faults(bill)) >= 12, bill_faults(bill)
