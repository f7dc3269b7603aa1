#!/usr/bin/env python3
"""Counts the lines of our sources that are linked into a program.

Usage: linked_code.py PROGRAM...    prints the lines of each by folder

Line information (-g1, which every preset has) says which lines have code in .text: what the linker took away
(-ffunction-sections, --gc-sections) has none. Counted is each top-level definition with such a line, whole: a function, or
a class with a function in it, without blank lines, comments and preprocessor lines. So tables without code, declarations,
generated sources and other people's headers are not counted."""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
Line = tuple[str, int]  # path from the root, number


def rows_of(listing: str, begin: int, end: int) -> set[Line]:
    """What `objdump -w --dwarf=decodedline` lists of addresses from `begin` to before `end`. Rows stand below the path of
    their file, but for those at the beginning of a unit and of each sequence in it (a row without an address ends one):
    these are of the unit's first file, of which they have the name only. Some later rows have its path."""
    found, path, unit, nameless = set(), None, {}, []
    for row in listing.splitlines() + ["CU: its end:"]:
        if row.startswith("CU: "):
            found |= {(unit[name], number) for name, number in nameless if name in unit}
            first = row[len("CU: "):-1].removeprefix("./")
            path, unit, nameless = None, {first.rpartition("/")[2]: first}, []
        elif header := re.fullmatch(r"(\S+):", row):
            path = header[1].removeprefix("./")
            unit.setdefault(path.rpartition("/")[2], path)
        elif re.fullmatch(r"\S+\s+-\s+0x[0-9a-f]+", row):
            path = None
        elif (code := re.match(r"(\S+)\s+(\d+)\s+0x([0-9a-f]+)", row)) and begin <= int(code[3], 16) < end:
            found |= {(path, int(code[2]))} if path else set()
            nameless += [] if path else [(code[1], int(code[2]))]
    return found


def is_code(row: str) -> bool:
    return bool(text := row.strip()) and not text.startswith(("//", "#"))


def definitions(rows: list[str]) -> list[range]:
    """The numbers of each top-level definition's lines. As clang-format lays them out: one with a body ends with the
    first line that begins with a brace, any other with the first line that ends with a semicolon."""
    found, start, body = [], 0, False
    for number, row in enumerate(rows, 1):
        if not start:
            if not is_code(row) or row.startswith(("namespace", "}")):
                continue
            start, body = number, False
        code = re.sub(r"\s+//.*", "", row).rstrip()
        body = body or code.endswith("{")
        if row.startswith("}") or not body and code.endswith((";", "}")):
            found.append(range(start, number + 1))
            start = 0
    return found


def whole_definitions(lines: set[Line], texts: dict[str, list[str]]) -> set[Line]:
    """The lines of code of all definitions of `texts`, rows by path, that have one of `lines`."""
    by_path = collections.defaultdict(set)
    for path, number in lines:
        by_path[path].add(number)
    return {(path, number) for path in by_path.keys() & texts.keys() for definition in definitions(texts[path])
            if by_path[path].intersection(definition) for number in definition if is_code(texts[path][number - 1])}


def said(*command: object) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def linked_lines(program: pathlib.Path, root: pathlib.Path = ROOT) -> set[Line]:
    """Of the sources below `root` as they are now, of which the program must be built: paths in it are from there."""
    text = re.search(r" \.text +PROGBITS +(\w+) +\w+ +(\w+) ", said("readelf", "-SW", program))
    begin, size = int(text[1], 16), int(text[2], 16)
    lines = rows_of(said("objdump", "-w", "--dwarf=decodedline", program), begin, begin + size)
    listed = said("git", "-C", root, "ls-files", "-co", "--exclude-standard").splitlines()
    ours = {path for path, _ in lines} & {path for path in listed if path.endswith((".h", ".cc")) and (root / path).exists()}
    found = whole_definitions(lines, {path: (root / path).read_text().splitlines() for path in ours})
    if not found:
        raise SystemExit(f"{program}: no line information of our sources: build the release preset, and do not strip it")
    return found


def main() -> int:
    for program in map(pathlib.Path, sys.argv[1:]):
        folders = collections.Counter(path.rpartition("/")[0] for path, _ in linked_lines(program))
        print(f"{program.name}: {folders.total()} lines")
        for folder, count in sorted(folders.items()):
            print(f"  {folder}: {count}")
    return 0 if sys.argv[1:] else 2


if __name__ == "__main__":
    sys.exit(main())
