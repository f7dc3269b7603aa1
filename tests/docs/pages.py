"""The pages of names that operators search for, against the code that says them: each name of the code has its row, and
each row its name. docs/metrics.md and docs/status-json.md are held by unit tests, which ask the code itself."""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("privd", "plugind", "netd", "ipc")


def rows(page: str, heading: str = "") -> set[str]:
    """What stands in backticks in the first column of the page's tables, below one heading if it is given."""
    if heading:
        page = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def said(text: str, pattern: str, begin: str = "") -> set[str]:
    """What the pattern's group finds, from `begin` on, up to the "unknown" that ends such a list."""
    return set(re.findall(pattern, text[text.index(begin):].partition('"unknown"')[0]))


def difference(where: str, page: set[str], code: set[str]) -> list[str]:
    return [f"{where}: `{name}` is not in the page" for name in sorted(code - page)] + [
        f"{where}: no code says `{name}`" for name in sorted(page - code)
    ]


def literals() -> set[str]:
    files = (file for folder in SOURCES for file in (TREE / folder).rglob("*") if file.suffix in (".cc", ".h"))
    return {word for file in files for word in re.findall(r'"([a-z][a-z_-]*)"', file.read_text())}


def unused_events(header: str) -> list[str]:
    """Of the enum of a log's events those that no source beside its own names."""
    path = TREE / header
    listed = re.findall(r"^  (k\w+),", path.read_text(), re.MULTILINE)
    own = {path, path.with_suffix(".cc")}
    others = "".join(file.read_text() for file in path.parent.rglob("*.cc") if file not in own)
    return [event for event in listed if not re.search(rf"LogEvent::{event}\b", others)]


def faults() -> list[str]:
    def read(name: str) -> str:
        return (TREE / name).read_text()

    name = r'return "(\w+)";'
    log, reasons, everywhere = read("docs/log.md"), read("docs/reasons.md"), literals()
    found = difference("log.md, privd", rows(log, "privd"), said(read("privd/log_line.cc"), name))
    for header in ("privd/log_line.h", "plugind/log_events.h"):
        found += [f"{header}: nothing says {event}" for event in unused_events(header)]
    found += difference("log.md, plugind", rows(log, "plugind"), said(read("plugind/log_events.h"), name))
    levels = said(read("netd/log_line.cc"), r'spdlog::level::\w+, "(\w+)"')
    found += difference("log.md, netd", rows(log, "netd"), levels)
    turns = said(read("plugind/core/registration.cc"), r'"([\w-]+)";', '"taken"')
    found += difference("registration.md", rows(read("docs/registration.md")), turns)
    hardware = said(read("ipc/types/viability.cc"), r'return "([\w-]+)";', '"passable"')
    catalog = said(read("plugind/core/resource_catalog.cc"), r'LeftOut\{"([\w-]+)"')
    offer = said(read("plugind/core/offer_reason.cc"), r'return \{\s*"([\w-]+)"')
    codes = rows(reasons)
    known = {code for code in codes if code in everywhere}
    found += difference("reasons.md", codes, hardware | catalog | offer | known)
    ledger = "".join(file.read_text() for file in sorted((TREE / "plugind/core/ledger").glob("*.cc")))
    events = said(ledger, r'(?:\.event = |journalEvent\([^;"]*)"([\w-]+)"')
    journal = rows(read("docs/journal.md").partition("| event | what happened")[2])
    found += difference("journal.md", journal, events | {event for event in journal if event in everywhere})
    return found


def check_the_checker() -> None:
    page = "# x\n\n## a\n\n| `one`, `two` | x |\n\n## b\n\n| `three` | `no` |\n"
    assert rows(page, "a") == {"one", "two"}, rows(page, "a")
    assert rows(page) == {"one", "two", "three"}
    assert len(difference("x", {"a", "b"}, {"b", "c"})) == 2
    assert said('z return "q"; k return "a"; return "unknown"; return "b";', r'return "(\w+)";', "k ") == {"a"}
