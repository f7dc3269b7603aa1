#!/usr/bin/env python3
"""Prints docs/reference.md: options as the programs' own --help says them, keys of plugind's configuration as
plugind/config/config.proto has them, metrics, events and reason codes as the sources do. Nothing is written here by hand that
is said there."""

import argparse
import pathlib
import re
import subprocess

import names

TREE = pathlib.Path(__file__).resolve().parents[1]
SCHEMA = TREE / "plugind/config/config.proto"
PROGRAMS = ("privd", "privd-hardware", "privd-gate", "privd-binder", "privd-iommufd", "plugind", "netd")

HEAD = """# Reference

Written by `docs/make_reference.py` from the programs' own help and from the sources; a test fails where it differs. What the names
mean, and forms of output, on pages that tests hold against the code: [metrics](metrics.md), [events of the logs](log.md) and
[of the journal](journal.md), [reason codes](reasons.md), [turns of a registration](registration.md), [readiness](readiness.md),
[status as JSON](status-json.md), [list as JSON](list-json.md), [the checks of doctor](doctor.md).
"""


def help_of(programs: pathlib.Path, *words: str) -> str:
    done = subprocess.run([str(programs / words[0]), *words[1:], "--help"], check=True, capture_output=True, text=True,
                          env={"COLUMNS": "100"})
    return done.stdout.strip()


def subcommands(text: str) -> list[str]:
    listed = re.findall(r"^(?:Subcommands|Advanced subcommands):\n((?:  .*\n?)+)", text, re.MULTILINE)
    return re.findall(r"^  (\w[\w-]*)", "\n".join(listed), re.MULTILINE)


def options(programs: pathlib.Path) -> str:
    text = ""
    for program in PROGRAMS:
        said = help_of(programs, program)
        text += f"\n## {program}\n\n```text\n{said}\n```\n"
        for command in subcommands(said):
            text += f"\n### {program} {command}\n\n```text\n{help_of(programs, program, command)}\n```\n"
    return text


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def duration(milliseconds: str) -> str:
    return f"{int(milliseconds) // 1000}s"


def braced(text: str, opening: str) -> str:
    """What stands between the braces after `opening`."""
    begin = text.index(opening) + len(opening)
    depth, at = 1, begin
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin:at - 1]


def words_of(message: str, kind: str) -> str:
    words = []
    for name, rest in re.findall(r"(\w+) = \d+(.*?);", braced(message, f"enum {kind} {{")):
        spelling = re.search(r'spelling\) = "([^"]+)"', rest)
        word = spelling[1] if spelling else name.lower()
        words.append(f"`{word}`")
    return ", ".join(words)


def value_of(message: str, label: str, kind: str, rest: str) -> str:
    most = re.search(r"max_ms: (\d+)", rest)
    if "duration: true" in rest:
        value = "a duration such as `60s`" + (f", at most `{duration(most[1])}`" if most else "")
    elif f"enum {kind} {{" in message:
        value = words_of(message, kind)
    else:
        value = {"string": "text", "bool": "`true`, `false`", "uint32": "a number"}.get(kind, f"[{kind}](#{kind.lower()})")
    if label == "repeated":
        value = "one or a list of: " + value
    return value


def default_of(rest: str, words: str) -> str:
    items = re.findall(r'default_items: "([^"]+)"', rest)
    if items:
        return f"`[{', '.join(items)}]`"
    found = re.search(r"default = (\"[^\"]*\"|\w+)", rest)
    if not found:
        return ""
    if "duration: true" in rest:
        return f"`{duration(found[1])}`"
    if found[1].isupper():
        return words.split(",")[0]
    return f"`{found[1]}`"


def keys(schema: str) -> str:
    text = "\n# plugind's configuration\n\nA key that is not here is refused by name. `plugind --check-config` prints a file as it takes effect.\n"
    for message in ("Config", "Resource", "Set", "More", "Select", "Dra"):
        body = braced(schema, f"message {message} {{")
        fields = re.sub(r"enum \w+ \{.*?\n  \}", "", body, flags=re.DOTALL)
        text += f"\n## {message}\n\n| key | value | default |\n|---|---|---|\n"
        for label, kind, name, rest in re.findall(
                r"(optional|repeated|map<[^>]+>)\s*(\w*)\s+(\w+) = \d+\s*(.*?);", fields, re.DOTALL):
            value = "a model such as `\"10de:2684\"`, to a name" if label.startswith("map") else value_of(
                body, label, kind, rest)
            text += f"| `{camel(name)}` | {value} | {default_of(rest, value)} |\n"
    return text


def listed(words: set[str]) -> str:
    # What ends in a dash is followed by a word of the moment, such as a group's state.
    return ", ".join(f"`{word}`" + ("..." if word.endswith("-") else "") for word in sorted(words)) + "\n"


def names_of_the_code() -> str:
    text = "\n# Metrics\n\nLabels and their values: [metrics.md](metrics.md).\n\n| metric | type | help |\n|---|---|---|\n"
    text += "".join(f"| `{name}` | {kind} | {words} |\n" for name, kind, words in names.metrics())
    text += "\n# Events\n\nWhat each means: [log.md](log.md), [journal.md](journal.md).\n"
    for program, events in names.log_events().items():
        text += f"\n{program}'s log: {listed(events)}"
    known = names.literals()
    page = re.findall(r"^\| `([\w-]+)` \|", names.read("docs/journal.md").partition("| event | what")[2], re.MULTILINE)
    text += f"\nplugind's journal: {listed(names.journal_events() | set(page) & known)}"
    text += f"\nTurns of a [registration](registration.md): {listed(names.registration_turns())}"
    page = re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", names.read("docs/reasons.md"), re.MULTILINE)))
    text += "\n# Reason codes\n\nWhat each means and what lifts it: [reasons.md](reasons.md); of a whole node: [readiness.md](readiness.md).\n\n"
    return text + listed(names.reason_codes() | set(page) & known)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    programs = arguments.parse_args().programs
    schema = re.sub(r"//.*", "", SCHEMA.read_text())
    print(HEAD + options(programs) + keys(schema) + names_of_the_code(), end="")


if __name__ == "__main__":
    main()
