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
    says: str


class Command(typing.NamedTuple):
    name: str  # such as "bind" or "audit show"
    says: str
    options: list[Option]
    arguments: list[str]  # such as "ADDRESS"
    commands: list[str]  # its own subcommands


def help_text(program: pathlib.Path, *words: str) -> str:
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout


def version_of(program: pathlib.Path) -> str:
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[0]


def section(text: str, *titles: str) -> list[str]:
    """The entries below these titles, one string each."""
    entries = []
    for title in titles:
        found = re.search(rf"^{title}:\n((?:  .*\n?)+)", text, re.MULTILINE)
        entries += re.split(r"\n  (?=\S)", found[1].strip("\n")) if found else []
    return entries


def option_of(entry: str) -> Option:
    names, _, rest = entry.strip().partition(" ")
    says = " ".join(re.split(r"\s{2,}|\n", entry.strip(), maxsplit=1)[-1].split())
    takes = re.match(r"(?P<kind>[A-Z]+)(?::\{(?P<choices>[^}]*)\}|:[^=]*)?(?:=(?P<default>\S*))?(?=\s|$)", rest)
    listed = re.search(r": ([\w-]+(?:\|[\w-]+)+)\s*$", says)
    choices = listed[1].split("|") if listed else []
    if not takes:
        # A form such as SELECTOR|ADDRESS=VENDOR:DEVICE or GUARD[=ADDRESS].
        form = re.match(r"[A-Z]+[|=:\[\]A-Z]*(?=\s|$)", rest)
        return Option(names.split(","), form[0] if form else "", choices, "", says)
    choices = takes["choices"].split(",") if takes["choices"] else choices
    return Option(names.split(","), takes["kind"], choices, (takes["default"] or "").strip("[]"), says)


def commands_of(program: pathlib.Path, *path: str) -> list[Command]:
    """The subcommands, each before its own."""
    commands = []
    for entry in section(help_text(program, *path), "Subcommands", "Advanced subcommands"):
        name, says = entry.split(maxsplit=1)
        text = help_text(program, *path, name)
        options = [option_of(each) for each in section(text, "Options", "Advanced options")]
        arguments = [each.split()[0] for each in section(text, "Positionals")]
        below = commands_of(program, *path, name)
        full = " ".join([*path, name])
        own = [each.name.split()[-1] for each in below if each.name.count(" ") == full.count(" ") + 1]
        commands += [Command(full, " ".join(says.split()), options, arguments, own), *below]
    return commands


def top_options(program: pathlib.Path) -> list[Option]:
    return [option_of(each) for each in section(help_text(program), "Options", "Advanced options")]
