"""What a program says of itself with --help: subcommands, their options, what each takes."""

import pathlib
import re
import subprocess
import typing


class Option(typing.NamedTuple):
    names: list[str]  # such as "-o", "--output"
    takes: str  # "" for nothing, "TEXT", "UINT", "FILE", ...
    choices: list[str]  # all that it takes, where help says so
    default: str


class Command(typing.NamedTuple):
    name: str
    says: str
    options: list[Option]


def help_text(program: pathlib.Path, *words: str) -> str:
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout


def section(text: str, title: str) -> list[str]:
    """The entries below a title, one string each."""
    found = re.search(rf"^{title}:\n((?:  .*\n?)+)", text, re.MULTILINE)
    return re.split(r"\n  (?=\S)", found[1].strip("\n")) if found else []


def option_of(entry: str) -> Option:
    names, _, rest = entry.strip().partition(" ")
    takes = re.match(r"(?P<kind>[A-Z]+)(?::\{(?P<choices>[^}]*)\}|:[^=]*)?(?:=(?P<default>\S*))?(?=\s|$)", rest)
    if not takes:
        # A form such as SELECTOR|ADDRESS=VENDOR:DEVICE or GUARD[=ADDRESS].
        form = re.match(r"[A-Z]+[|=:\[\]A-Z]*(?=\s|$)", rest)
        return Option(names.split(","), form[0] if form else "", [], "")
    listed = re.search(r": (\w+(?:\|\w+)+)\s*$", rest)
    choices = takes["choices"].split(",") if takes["choices"] else listed[1].split("|") if listed else []
    return Option(names.split(","), takes["kind"], choices, (takes["default"] or "").strip("[]"))


def commands_of(program: pathlib.Path) -> list[Command]:
    commands = []
    for entry in section(help_text(program), "Subcommands"):
        name, says = entry.split(maxsplit=1)
        options = [option_of(each) for each in section(help_text(program, name), "Options")]
        commands.append(Command(name, says, options))
    return commands
