"""What code and tests cite of docs/design is there: rows of the ledger's table, K and T of the kubelet contract, invariants, and
sections of each page (`ledger.md 5.7`). A citation goes as far as the name is spelled out: "row 7, before" is row 7."""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
DESIGN = TREE / "docs/design"
FOLDERS = ("cli", "ipc", "netd", "plugind", "privd", "rootless", "seccomp", "sim", "tests")
SUFFIXES = (".cc", ".h", ".capnp", ".py", ".sh")
NUMBERS = r"\d+[a-z]?(?:(?:, | and | to | or )\d+[a-z]?)*"
# Only what stands in a comment of the ledger or its tests speaks of its table.
ROWS = re.compile(rf"(?://|#).*?\b[Rr]ows? ({NUMBERS})")
CONTRACT = re.compile(r"(?://|#).*?\b([KT]\d+)\b")
INVARIANT = re.compile(r"\b(I\d+)_")
SECTION = re.compile(r"\b(design|ledger|kubelet-contract|platform-facts)\.md,? (\d+(?:\.\d+)?)\b")


def of_the_ledger(path: pathlib.Path) -> bool:
    return "ledger" in path.parts or path.parent.name == "core"


def sections(text: str) -> set[str]:
    """Headings with their numbers, and the numbered statements below one: "5" and "5.7"."""
    found, last = set(), ""
    for heading, statement in re.findall(r"^(?:#{2,3} (\d+(?:\.\d+)?)\.? |(\d+)\. )", text, re.MULTILINE):
        last = heading or last
        found.add(heading or f"{last}.{statement}")
    return found


class Specified:
    def __init__(self, texts: dict[str, str]):
        section = texts["ledger.md"].partition("\n## 7.")[2].partition("\n## 8.")[0]
        self.rows = set(re.findall(r"^\| (\d+[a-z]?) \|", section, re.MULTILINE))
        contract = "".join(text for name, text in texts.items() if name.startswith("kubelet-contract"))
        self.contract = set(re.findall(r"^\| ([KT]\d+) \|", contract, re.MULTILINE))
        self.invariants = set(re.findall(r"^\| (I\d+) \|", texts["design.md"], re.MULTILINE))
        self.sections = {}
        for page, text in (("kubelet-contract", contract), *((name.removesuffix(".md"), text) for name, text in texts.items())):
            self.sections.setdefault(page, set()).update(sections(text))

    def has_row(self, row: str) -> bool:
        return row in self.rows or row.rstrip("abcdefgh") in self.rows


def unknown(path: pathlib.Path, text: str, specified: Specified) -> list[str]:
    found = []
    if of_the_ledger(path):
        for cited in ROWS.findall(text):
            found += [f"row {row}" for row in re.findall(r"\d+[a-z]?", cited) if not specified.has_row(row)]
    if "kubelet" in text.lower():
        found += [name for name in CONTRACT.findall(text) if name not in specified.contract]
    found += [name for name in INVARIANT.findall(text) if name not in specified.invariants]
    found += [f"{page}.md {number}" for page, number in SECTION.findall(text) if number not in specified.sections[page]]
    return found


def texts() -> dict[str, str]:
    return {path.name: path.read_text() for path in DESIGN.glob("*.md")}


def faults() -> list[str]:
    specified, found = Specified(texts()), []
    for folder in FOLDERS:
        for path in sorted((TREE / folder).rglob("*")):
            if path.suffix not in SUFFIXES or path == pathlib.Path(__file__).resolve():
                continue
            name = path.relative_to(TREE)
            found += [f"{name}: docs/design has no {what}" for what in unknown(path, path.read_text(), specified)]
    return found


def check_the_checker() -> None:
    specified = Specified(texts())
    wrong = "// Row 99, of the kubelet: T999, ledger.md 99\nTEST(A, I99_B) {}\n"
    right = "// Rows 1 to 13, of the kubelet: T7, ledger.md 9\nTEST(A, I1_B) {}\n"
    path = TREE / "plugind/core/ledger/a.cc"
    assert unknown(path, wrong, specified) == ["row 99", "T999", "I99", "ledger.md 99"], unknown(path, wrong, specified)
    assert unknown(path, right, specified) == [], unknown(path, right, specified)
