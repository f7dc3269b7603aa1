#!/usr/bin/env python3
"""Runs clang-tidy, two pieces at a time.

  tests/tidy.py [PATH...]           every source of ours, or those at these paths
  tests/tidy.py --half N [PATH...]  every second piece of them, N from 1 to 2
  tests/tidy.py --changed           those that the last commit or the working tree changed

A piece has up to eight sources of one target, one after the other as the compiler of a release gets them: most of the time goes
to what they include. It is judged once: what clang-tidy had nothing against is known by its text after the preprocessor, comments
and macros with it, by the flags, the checks and clang-tidy's version, and is left out until one of them changes. Exit 1 where it
has something to say, which is printed."""

import argparse
import bisect
import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[1]
BUILD = TREE / "build/tidy"
PIECES = BUILD / "pieces"
CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "vfiogate/tidy"


def said(*words: str) -> str:
    return subprocess.run(words, cwd=TREE, check=True, capture_output=True, text=True).stdout


@dataclasses.dataclass(frozen=True)
class Piece:
    sources: tuple[str, ...]  # by their names in the tree
    flags: tuple[str, ...]

    def only(self, wanted: set[str]) -> "Piece":
        return Piece(tuple(source for source in self.sources if source in wanted), self.flags)

    def file(self) -> pathlib.Path:
        """Written anew. In a folder with the checks of its sources' top folder."""
        folder = PIECES / self.sources[0].partition("/")[0]
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / (hashlib.sha256("\n".join(self.sources).encode()).hexdigest()[:16] + ".cc")
        file.write_text("".join(text(source) for source in self.sources))
        return file

    def placed(self, line: int) -> str:
        """Where the line of the file is in the tree."""
        firsts = [1]
        for source in self.sources:
            firsts.append(firsts[-1] + text(source).count("\n"))
        at = bisect.bisect(firsts, line) - 1
        return f"{self.sources[at]}:{line - firsts[at] + 1}"


@functools.cache
def text(source: str) -> str:
    return (TREE / source).read_text() + "\n"


def prepare() -> None:
    """Generated headers and the folders' own checks must be there before a piece can be judged."""
    said("cmake", "--preset", "tidy")
    said("cmake", "--build", "--preset", "tidy", "--target", "generated_sources")
    for name in said("git", "ls-files", "*/.clang-tidy").splitlines():
        own = PIECES / name
        own.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / name, own)


def pieces() -> list[Piece]:
    """Each source that is built once, with those beside which it is compiled."""
    ours, seen, found = set(said("git", "ls-files", "*.cc").splitlines()), set(), []
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        files = re.findall(r'^#include "(.*)"$', file.read_text(), re.MULTILINE) if file.parent.name == "Unity" else [str(file)]
        names = [os.path.relpath(name, TREE) for name in files]
        sources = tuple(name for name in names if name in ours and name not in seen)
        words = shlex.split(entry["command"])[1:]
        if sources:
            seen.update(sources)
            found.append(Piece(sources, tuple(words[:words.index("-o")])))
    return sorted(found, key=lambda piece: piece.sources)


@functools.cache
def judge() -> bytes:
    """clang-tidy as it is here, with the checks that it makes."""
    configurations = [(TREE / name).read_text() for name in said("git", "ls-files", "*.clang-tidy").splitlines()]
    return "\0".join([said("clang-tidy", "--version"), *configurations]).encode()


def key(file: pathlib.Path, flags: tuple[str, ...]) -> str:
    whole = subprocess.run(["clang++", *flags, "-w", "-E", "-C", "-P", "-dD", file], cwd=BUILD, check=True, capture_output=True).stdout
    return hashlib.sha256(b"\0".join([judge(), shlex.join(flags).replace(str(TREE), "").encode(), whole])).hexdigest()


def fault(piece: Piece) -> str | None:
    """What clang-tidy says against it; empty: nothing. None: it was judged before."""
    file = piece.file()
    clean = CLEAN / key(file, piece.flags)
    if clean.exists():
        return None
    done = subprocess.run(["clang-tidy", "--quiet", file, "--", *piece.flags], cwd=BUILD, capture_output=True, text=True)
    if done.returncode != 0:
        return re.sub(rf"{file}:(\d+)", lambda found: piece.placed(int(found[1])), done.stdout or done.stderr)
    clean.touch()
    return ""


def chosen(words: argparse.Namespace) -> list[Piece]:
    if words.changed:
        names = said("git", "diff", "--name-only", "HEAD")
        names += subprocess.run(["git", "diff", "--name-only", "HEAD~1", "HEAD"], cwd=TREE, capture_output=True, text=True).stdout
    else:
        names = said("git", "ls-files", "--", *words.paths)
    wanted = set(names.splitlines())
    some = [piece for piece in (piece.only(wanted) for piece in pieces()) if piece.sources]
    return some[words.half - 1::2] if words.half else some


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--half", type=int, choices=(1, 2))
    which.add_argument("--changed", action="store_true")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    words = parser.parse_args()
    if words.changed and words.paths:
        parser.error("--changed takes no paths")
    prepare()
    CLEAN.mkdir(parents=True, exist_ok=True)
    some = chosen(words)
    if not some and not words.changed:
        parser.error("no source of ours is at " + ", ".join(words.paths))
    faults = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for text_of in pool.map(fault, some):
            faults.append(text_of)
            if text_of:
                print(text_of, flush=True)
    bad, before = sum(bool(one) for one in faults), faults.count(None)
    sources = sum(len(piece.sources) for piece in some)
    print(f"{sources} sources in {len(some)} pieces: {bad} with faults, {before} judged before")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
