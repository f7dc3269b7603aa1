#!/usr/bin/env python3
"""Runs clang-tidy, two sources at a time.

  tests/tidy.py [FOLDER...]           every source of ours, or those in these folders
  tests/tidy.py --half N [FOLDER...]  every second one of them, N from 1 to 2
  tests/tidy.py --changed             those that the last commit or the working tree changed

A source is judged once: what clang-tidy had nothing against is known by its text after the preprocessor, comments and macros
with it, by the flags, the checks and clang-tidy's version, and is left out until one of them changes. Exit 1 where it has
something to say, which is printed."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[1]
BUILD = TREE / "build/tidy"
CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "vfiogate/tidy"


def said(*words: str) -> str:
    return subprocess.run(words, cwd=TREE, check=True, capture_output=True, text=True).stdout


def prepare() -> None:
    """Generated headers must be there before a source that includes them can be read."""
    said("cmake", "--preset", "tidy")
    said("cmake", "--build", "--preset", "tidy", "--target", "generated_sources")


def commands() -> dict[str, str]:
    """Per source that is built, by its name in the tree, how it is compiled."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    return {os.path.relpath(entry["file"], TREE): entry["command"] for entry in entries}


@functools.cache
def judge() -> bytes:
    """clang-tidy as it is here, with the checks that it makes."""
    configurations = [(TREE / name).read_text() for name in said("git", "ls-files", "*.clang-tidy").splitlines()]
    return "\0".join([said("clang-tidy", "--version"), *configurations]).encode()


def key(command: str) -> str:
    compiler, *words = shlex.split(command)
    at = words.index("-o")
    flags = words[:at] + [word for word in words[at + 2:] if word != "-c"]
    text = subprocess.run([compiler, *flags, "-w", "-E", "-C", "-P", "-dD"], cwd=BUILD, check=True, capture_output=True).stdout
    return hashlib.sha256(b"\0".join([judge(), shlex.join(flags).replace(str(TREE), "").encode(), text])).hexdigest()


def fault(source: str, command: str) -> str | None:
    """What clang-tidy says against it; empty: nothing. None: it was judged before."""
    clean = CLEAN / key(command)
    if clean.exists():
        return None
    done = subprocess.run(["clang-tidy", "-p", BUILD, "--quiet", source], cwd=TREE, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stdout or done.stderr
    clean.touch()
    return ""


def chosen(words: argparse.Namespace, known: dict[str, str]) -> list[str]:
    if words.changed:
        names = said("git", "diff", "--name-only", "HEAD")
        names += subprocess.run(["git", "diff", "--name-only", "HEAD~1", "HEAD"], cwd=TREE, capture_output=True, text=True).stdout
    else:
        names = said("git", "ls-files", "--", *words.folders)
    sources = sorted(set(names.splitlines()) & known.keys())
    return sources[words.half - 1::2] if words.half else sources


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--half", type=int, choices=(1, 2))
    which.add_argument("--changed", action="store_true")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    words = parser.parse_args()
    if words.changed and words.folders:
        parser.error("--changed takes no folders")
    prepare()
    CLEAN.mkdir(parents=True, exist_ok=True)
    known = commands()
    sources = chosen(words, known)
    if not sources and not words.changed:
        parser.error("no source of ours is in " + ", ".join(words.folders))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = list(pool.map(lambda source: fault(source, known[source]), sources))
    for text in filter(None, faults):
        print(text)
    bad, before = sum(bool(text) for text in faults), faults.count(None)
    print(f"{len(sources)} sources: {bad} with faults, {before} judged before")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
