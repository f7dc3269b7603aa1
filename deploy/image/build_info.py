"""What the programs say that they were built of, and when the tree's commit was."""

import os
import pathlib
import re
import subprocess
from typing import NamedTuple

import target

TREE = pathlib.Path(__file__).resolve().parents[2]
SAYS = re.compile(r"(\S+) \(commit (\S+), (\S+)\)")


class BuildInfo(NamedTuple):
    version: str
    commit: str  # "unknown" where the tree did not know it
    date: str


def of(programs: list[pathlib.Path]) -> BuildInfo:
    """Of the programs together. Those of several builds have no one commit, and it is said so. LookupError: not one of ours."""
    said = {}
    for program in programs:
        text = subprocess.run(target.run_there(program, "--version"), check=True, capture_output=True, text=True).stdout
        match = SAYS.fullmatch(text.strip())
        if match is None:
            raise LookupError(f"{program} --version says {text!r}")
        said[program.name] = BuildInfo(*match.groups())
    first = said[programs[0].name]
    if len({info.commit for info in said.values()}) == 1:
        return first
    return first._replace(commit=", ".join(f"{name} {info.commit}" for name, info in said.items()))


def commit_of_tree() -> str:
    """As the programs say it: `-dirty` behind it where files have changed; "unknown" where nobody knows."""
    if (TREE / ".git").exists():
        return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    words = told_by_archive()
    return words[0] if words else "unknown"


def epoch_of_tree() -> int:
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told:
        return int(told)
    if (TREE / ".git").exists():
        return int(git("log", "-1", "--format=%ct"))
    words = told_by_archive()
    if not words:
        raise LookupError("no .git, and no commit in cmake/source_commit: say SOURCE_DATE_EPOCH")
    return int(words[1])


def git(*words: str) -> str:
    command = ["git", "--no-optional-locks", "-c", f"safe.directory={TREE}", "-C", str(TREE), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def told_by_archive() -> list[str]:
    """Commit and seconds since 1970, which `git archive` leaves; empty: nothing did."""
    words = (TREE / "cmake/source_commit").read_text().split()
    return words if len(words) == 2 and words[1].isdigit() else []
