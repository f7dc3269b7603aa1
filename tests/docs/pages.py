"""The pages of names that operators search for, against the code that says them: each name of the code has its row, and
each row its name. docs/metrics.md and docs/status-json.md are held by unit tests, too, which ask the code itself."""

import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "docs"))
import names  # noqa: E402


def rows(page: str, heading: str = "") -> set[str]:
    """What stands in backticks in the first column of the page's tables, below one heading if it is given."""
    if heading:
        page = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def difference(where: str, page: set[str], code: set[str]) -> list[str]:
    return [f"{where}: `{name}` is not in the page" for name in sorted(code - page)] + [
        f"{where}: no code says `{name}`" for name in sorted(page - code)
    ]


def unused_events(header: str) -> list[str]:
    """Of the enum of a log's events those that no source beside its own names."""
    path = TREE / header
    listed = re.findall(r"^  (k\w+),", path.read_text(), re.MULTILINE)
    own = {path, path.with_suffix(".cc")}
    program = TREE / pathlib.PurePath(header).parts[0]
    others = "".join(file.read_text() for file in program.rglob("*.cc") if file not in own)
    return [event for event in listed if not re.search(rf"LogEvent::{event}\b", others)]


def faults() -> list[str]:
    log, reasons, everywhere = names.read("docs/log.md"), names.read("docs/reasons.md"), names.literals()
    found = []
    for program, events in names.log_events().items():
        found += difference(f"log.md, {program}", rows(log, program), events)
    for header in ("privd/base/log_line.h", "plugind/base/log_events.h"):
        found += [f"{header}: nothing says {event}" for event in unused_events(header)]
    found += difference("registration.md", rows(names.read("docs/registration.md")), names.registration_turns())
    codes = rows(reasons)
    found += difference("reasons.md", codes, names.reason_codes() | {code for code in codes if code in everywhere})
    journal = rows(names.read("docs/journal.md").partition("| event | what happened")[2])
    known = {event for event in journal if event in everywhere}
    found += difference("journal.md", journal, names.journal_events() | known)
    metrics = {name for name in rows(names.read("docs/metrics.md")) if name.startswith(("vfiogate_", "process_"))}
    found += difference("metrics.md", metrics, {name for name, _, _ in names.metrics()})
    found += reading_faults()
    return found


def slug(heading: str) -> str:
    """The anchor that a forge makes of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def links_of(text: str) -> list[tuple[str, str]]:
    """Path and anchor of each link that stays in the tree; what is in code is none."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    return [(path, anchor) for path, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", prose) if ":" not in path]


def lost_links(page: pathlib.Path) -> list[str]:
    found = []
    for path, anchor in links_of(page.read_text()):
        target = (page.parent / path) if path else page
        if not target.exists():
            found.append(f"{page.relative_to(TREE)}: there is no {path}")
        elif anchor and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            if anchor not in {slug(heading) for heading in headings}:
                found.append(f"{page.relative_to(TREE)}: {path or page.name} has no heading for #{anchor}")
    return found


# Made by programs, or lists that are looked up in.
WITHOUT_NEXT = {"changes.md", "reference.md", "results.md", "tree.md"}


def reading_faults() -> list[str]:
    """Links lead somewhere, and a page says what to read next."""
    docs = TREE / "docs"
    readers = [page for page in (*docs.glob("*.md"), *docs.glob("howto/*.md")) if page.name not in WITHOUT_NEXT]
    found = [f"{page.relative_to(TREE)}: does not end with **Read next:**" for page in readers
             if not page.read_text().rstrip().splitlines()[-1].startswith("**Read next:** [")]
    linked = [TREE / "README.md", TREE / "ARCHITECTURE.md", TREE / "SECURITY.md", *docs.rglob("*.md"), *(TREE / "deploy").rglob("*.md")]
    return found + [fault for page in linked for fault in lost_links(page)]


def check_the_checker() -> None:
    assert slug("5. Groups: a `b-c` [d](e)") == "5-groups-a-b-c-d"
    assert links_of("[a](b.md#c) `[x](y)` [d](https://e) [f](#g)\n```\n[h](i)\n```\n") == [("b.md", "c"), ("", "g")]
    page = "# x\n\n## a\n\n| `one`, `two` | x |\n\n## b\n\n| `three` | `no` |\n"
    assert rows(page, "a") == {"one", "two"}, rows(page, "a")
    assert rows(page) == {"one", "two", "three"}
    assert len(difference("x", {"a", "b"}, {"b", "c"})) == 2
    assert names.said('z return "q"; k return "a"; return "unknown"; return "b";', r'return "(\w+)";', "k ") == {"a"}
