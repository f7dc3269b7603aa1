#!/usr/bin/env python3
"""Completions of a program for bash, zsh and fish, from its own --help: subcommands, options and what they take, and the names that
only this machine knows: addresses, drivers."""

import argparse
import pathlib

import program_help
from program_help import Command, Option

ADDRESSES = "/sys/bus/pci/devices"
DRIVERS = "/sys/bus/pci/drivers"

BASH = """# Completes {program}'s subcommands, options and what they take. Made from its --help.
_{program}() {{
  local at=$COMP_CWORD current=${{COMP_WORDS[COMP_CWORD]}} path={program} words='' word start option
  # Bash takes the colons of an address for ends of words, and the sign of --option=value.
  while ((at > 1)) && [[ ${{COMP_WORDS[at]}} == [:=] || ${{COMP_WORDS[at - 1]}} == [:=] ]]; do
    at=$((at - 1))
    current=${{COMP_WORDS[at]}}$current
  done
  option=${{COMP_WORDS[at - 1]}}
  if [[ $current == --*=* ]]; then
    option=${{current%%=*}}
    current=${{current#*=}}
  fi
  for word in "${{COMP_WORDS[@]:1:at-1}}"; do
    case "$path $word" in
{paths}    esac
  done
  case "$path $option" in
{values}    *)
      case $path in
{listed}      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  start=${{current%"${{current##*[:=]}}"}}
  COMPREPLY=("${{COMPREPLY[@]#"$start"}}")
}}
complete -F _{program} {program}
"""

ZSH = """#compdef {program}
# Completes {program}'s subcommands, options and what they take. Made from its --help.
_{program}() {{
  local place={program} word option=$words[CURRENT-1]
  if [[ $PREFIX == --*=* ]]; then
    option=${{PREFIX%%=*}}
    compset -P 1 '*='
  fi
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$place $word" in
{paths}    esac
  done
  case "$place $option" in
{values}    *)
      case $place in
{listed}      esac ;;
  esac
}}
_{program} "$@"
"""


def is_address(option: Option) -> bool:
    return option.takes == "ADDRESS"


def takes_driver(option: Option) -> bool:
    return "--driver" in option.names


def takes_one_of_devices(option: Option) -> bool:
    """GUARD, or GUARD=ADDRESS for one device alone."""
    return bool(option.choices) and option.takes.endswith("[=ADDRESS]")


def takes_file(option: Option) -> bool:
    return option.takes in ("TEXT", "FILE")


def takes_address(command: Command) -> bool:
    return any(argument in ("ADDRESS", "DEVICE") for argument in command.arguments)


def words_after(command: Command) -> list[str]:
    return command.commands + [name for option in command.options for name in option.names]


class Shell:
    """The shells differ in how they say each of these."""
    template = ""

    def words(self, words: list[str], names: str = "") -> str:
        """These words, and the names in a directory."""
        raise NotImplementedError

    def files(self) -> str:
        raise NotImplementedError

    def nothing(self) -> str:
        return ":"

    def words_of_devices(self, words: list[str]) -> str:
        """These words; behind one and its sign, the addresses."""
        raise NotImplementedError

    def value(self, option: Option) -> str:
        if takes_one_of_devices(option):
            return self.words_of_devices(option.choices)
        if option.choices:
            return self.words(option.choices)
        if takes_driver(option):
            return self.words([], DRIVERS)
        if is_address(option):
            return self.words([], ADDRESSES)
        return self.files() if takes_file(option) else self.nothing()

    def case(self, indent: int, pattern: str, act: str) -> str:
        return f'{" " * indent}{pattern}) {act} ;;\n'

    def text_of(self, program: pathlib.Path) -> str:
        commands = program_help.commands_of(program)
        paths = " | ".join(f'"{program.name} {command.name}"' for command in commands)
        top = Command("", "", program_help.top_options(program), [], [each.name for each in commands if " " not in each.name])
        values = listed = ""
        for command in [top, *commands]:
            path = f"{program.name} {command.name}".strip()
            acts: dict[str, list[str]] = {}
            for option in command.options:
                if option.takes:
                    acts.setdefault(self.value(option), []).extend(f'"{path} {name}"' for name in option.names)
            values += "".join(self.case(4, " | ".join(patterns), act) for act, patterns in acts.items())
            listed += self.case(8, f'"{path}"', self.words(words_after(command), ADDRESSES if takes_address(command) else ""))
        set_path = {"bash": 'path="$path $word"', "zsh": 'place="$place $word"'}[self.name]
        return self.template.format(program=program.name, paths=self.case(6, paths, set_path), values=values, listed=listed)


class Bash(Shell):
    name = "bash"
    template = BASH

    def words(self, words: list[str], names: str = "") -> str:
        found = f"$(ls {names} 2>/dev/null)" if names else ""
        return f'words="{" ".join([*words, found]).strip()}"'

    def words_of_devices(self, words: list[str]) -> str:
        named = f'for word in {ADDRESSES}/*; do words+=" ${{current%%=*}}=${{word##*/}}"; done'
        return f"{self.words(words)}; if [[ $current == *=* ]]; then words=''; {named}; fi"

    def files(self) -> str:
        return 'mapfile -t COMPREPLY < <(compgen -f -- "$current"); return'


class Zsh(Shell):
    name = "zsh"
    template = ZSH

    def words(self, words: list[str], names: str = "") -> str:
        found = f"{names}/*(N:t)" if names else ""
        return "compadd -- " + " ".join([*words, found]).strip()

    def words_of_devices(self, words: list[str]) -> str:
        return f"if compset -P 1 '*='; then {self.words([], ADDRESSES)}; else {self.words(words)}; fi"

    def files(self) -> str:
        return "_files"


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(option: Option) -> str:
    if takes_one_of_devices(option):
        # Behind the sign, what is typed in front of it stays a part of each.
        devices = f"ls {ADDRESSES} 2>/dev/null | string replace -r ^ -- (string match -r '^.*=' -- (commandline -ct))"
        return f"-x -a {quoted('(if string match -q -- ' + quoted('*=*') + ' (commandline -ct); ' + devices + '; else; string split , ' + ','.join(option.choices) + '; end)')}"
    if option.choices:
        return f"-x -a {quoted(' '.join(option.choices))}"
    if takes_driver(option) or is_address(option):
        return f"-x -a '(ls {DRIVERS if takes_driver(option) else ADDRESSES} 2>/dev/null)'"
    return "-r -F" if takes_file(option) else "-x"


def fish(program: pathlib.Path) -> str:
    """Fish has a line for each word, with the condition under which it is offered, and what it is for."""
    name = program.name
    commands = program_help.commands_of(program)
    text = f"# Completes {name}'s subcommands, options and what they take. Made from its --help.\ncomplete -c {name} -f\n"

    def line(condition: str, rest: str, says: str) -> str:
        return f"complete -c {name} -n {quoted(condition)} {rest} -d {quoted(says)}\n"

    def options(condition: str, listed: list[Option]) -> str:
        made = ""
        for option in listed:
            flags = " ".join(f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.names if each.startswith("-"))
            if flags:
                made += line(condition, f"{flags} {fish_value(option)}" if option.takes else flags, option.says)
        return made

    text += options("__fish_use_subcommand", program_help.top_options(program))
    for command in commands:
        *above, last = command.name.split()
        seen = f"__fish_seen_subcommand_from {above[-1]}; and not __fish_seen_subcommand_from {last}" if above else "__fish_use_subcommand"
        text += line(seen, f"-a {last}", command.says)
        inside = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.name.split())
        text += options(inside, command.options)
        if takes_address(command):
            text += line(inside, f"-a '(ls {ADDRESSES} 2>/dev/null)'", "PCI device")
    return text


def text_of(program: pathlib.Path, shell: str = "bash") -> str:
    """`shell`: bash, zsh or fish."""
    return fish(program) if shell == "fish" else {"bash": Bash, "zsh": Zsh}[shell]().text_of(program)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.add_argument("program", type=pathlib.Path)
    wish = parser.parse_args()
    print(text_of(wish.program, wish.shell), end="")
