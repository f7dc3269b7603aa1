"""Bash's completion of a program, from its own --help."""

import pathlib

import program_help

HEAD = """# Completes {program}'s subcommands and options. Made from its --help.
_{program}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  if ((COMP_CWORD == 1)); then
    words="{first}"
  else
    case "${{COMP_WORDS[1]}} $previous" in
"""
TAIL = """    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -F _{program} {program}
"""


def case(patterns: list[str], act: str) -> str:
    return "      " + " | ".join(patterns) + f") {act} ;;\n"


FILES = 'mapfile -t COMPREPLY < <(compgen -f -- "$current"); return'


def value_cases(command: program_help.Command) -> str:
    text, files, anything = "", [], []
    for option in command.options:
        patterns = [f'"{command.name} {name}"' for name in option.names]
        if option.choices:
            text += case(patterns, f'words="{" ".join(option.choices)}"')
        elif option.takes in ("TEXT", "FILE"):
            files += patterns
        elif option.takes:
            anything += patterns
    if files:
        text += case(files, FILES)
    return text + (case(anything, ":") if anything else "")


def text_of(program: pathlib.Path) -> str:
    commands = program_help.commands_of(program)
    names = " ".join([command.name for command in commands] + ["--help", "--version"])
    text = HEAD.format(program=program.name, first=names)
    for command in commands:
        text += value_cases(command)
        listed = " ".join(name for option in command.options for name in option.names)
        text += case([f'"{command.name} "*'], f'words="{listed}"')
    return text + TAIL.format(program=program.name)
