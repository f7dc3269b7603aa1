"""docs/log.md against the calls that write the events: a field that a row names is in each line of its event, or the row says where; and
of what several of privd's processes write, the page names each event that has a line without `role`."""

import dataclasses
import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/log.md"
# Whose the calls of a folder of privd are; those of the rest are of several.
OWNERS = {"gate": "gate", "cdi": "gate", "binder": "binder", "bind": "binder", "writer": "binder", "audit": "binder",
          "hardware": "hardware", "iommufd": "iommufd", "start": "daemon", "serve.cc": "daemon",
          "scan/uevent_socket.cc": "hardware"}
PROGRAMS = {"privd": ("privd",), "plugind": ("plugind",), "netd": ("netd",)}
CALL = re.compile(r"\b(?:log(?:Line|Info|Warning|Error)|netdLog|netdLine|formatLine|writeLine)\(")
EVENT = re.compile(r"\b(?:LogEvent|NetdEvent)::k(\w+)")
FIELD = re.compile(r'\{"(\w+)",')
# Fields that come by a variable: any of those that the file names.
BY_NAME = re.compile(r"[{,]\s*(?:whose|fields)\s*[,})]")


@dataclasses.dataclass(frozen=True)
class Line:
    """One place where an event is written."""

    event: str
    owner: str
    fields: frozenset[str]
    also: frozenset[str] = frozenset()


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def calls_of(text: str) -> list[str]:
    found = []
    for match in CALL.finditer(text):
        end, depth = match.end(), 1
        while depth and end < len(text):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        found.append(text[match.start():end])
    return found


def lines_of(text: str, owner: str) -> list[Line]:
    """A call whose event is a variable is of each event that the file names in no other call."""
    calls = calls_of(text)
    rest = re.sub(r"static_cast<std::size_t>\([^)]*\)", "", text)
    for call in calls:
        rest = rest.replace(call, "")
    found = []
    for call in calls:
        if "LogEvent event" in call or "NetdEvent event" in call:
            continue
        named = EVENT.findall(call) or (EVENT.findall(rest) if re.search(r"\bevent\b", call) else [])
        also = frozenset(FIELD.findall(text)) if BY_NAME.search(call) else frozenset()
        found += [Line(snake(event), owner, frozenset(FIELD.findall(call)), also) for event in named]
    return found


def lines(program: str) -> list[Line]:
    found = []
    for folder in PROGRAMS[program]:
        for path in sorted((TREE / folder).rglob("*.cc")):
            inside = path.relative_to(TREE / folder)
            owner = OWNERS.get(str(inside), OWNERS.get(inside.parts[0], "several"))
            found += lines_of(path.read_text(), owner)
    return found


def rows(page: str, program: str) -> dict[str, str]:
    section = page.partition(f"\n## {program}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", section, re.MULTILINE))


def named(row: str, fields: set[str]) -> dict[str, bool]:
    """The fields that a row names, and whether it says that not every line has them: "`step`, where ...", or "not always `a`, `b`;"."""
    some = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"not always ([^;|]*)", row))))
    return {name: bool(after) or name in some for name, after in re.findall(r"`(\w+)`(,? where )?", row) if name in fields}


def row_faults(event: str, row: str, those: list[Line], fields: set[str]) -> list[str]:
    found = []
    for name, says in named(row, fields).items():
        may = [line for line in those if name in line.fields | line.also]
        if not may:
            found.append(f"{PAGE}: `{event}` has no field `{name}`")
        elif len(may) < len(those) and not says:
            found.append(f"{PAGE}: `{event}` has `{name}` in some lines only, and does not say in which (`{name}` where ...)")
    return found


def without_role(those: list[Line]) -> bool:
    owners = {line.owner for line in those}
    return ("several" in owners or len(owners) > 1) and any("role" not in line.fields for line in those)


def told_without_role(page: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", re.search(r"No `role` have (.*?)\. ", page, re.DOTALL)[1])) if "No `role` have " in page else set()


def faults() -> list[str]:
    page = (TREE / PAGE).read_text()
    found = []
    for program in PROGRAMS:
        every = lines(program)
        fields = {name for line in every for name in line.fields}
        for event, row in rows(page, program).items():
            those = [line for line in every if line.event == event]
            found += row_faults(event, row, those, fields) if those else []
    privd = lines("privd")
    unsaid = {event for event in rows(page, "privd") if without_role([line for line in privd if line.event == event])}
    found += [f"{PAGE}: `{event}` has lines without `role`, and the page does not say so" for event in sorted(unsaid - told_without_role(page))]
    return found + [f"{PAGE}: each line of `{event}` says `role`, or one process alone writes it" for event in sorted(told_without_role(page) - unsaid)]


def check_the_checker() -> None:
    text = 'logLine(LogEvent::kOneTwo, {{"a", f(x)}, {"b", y}});\nlogLine(LogEvent::kOneTwo);\nlogLine(LogEvent::kTwo, {whose, {"a", b}});\nf({"c", d});\n'
    assert lines_of(text, "x") == [Line("one_two", "x", frozenset("ab")), Line("one_two", "x", frozenset()),
                                   Line("two", "x", frozenset("a"), frozenset("abc"))], lines_of(text, "x")
    assert lines_of('logInfo(event, {{"a", b}}); f(LogEvent::kOne, b);', "x") == [Line("one", "x", frozenset("a"))]
    those = lines_of(text, "x")[:2]
    assert len(row_faults("one_two", " `c`, `a`, `b` where y ", those, set("abc"))) == 2
    assert not row_faults("one_two", " `b`, where y, or `nothing` ", those, set("abc"))
    assert not row_faults("one_two", " not always `a`, `b`; ", those, set("abc"))
    assert without_role([*those, Line("one_two", "y", frozenset({"role"}))]) and not without_role(those)
    assert told_without_role("x. No `role` have `a` and `b`: so. `c`. ") == {"a", "b"}
