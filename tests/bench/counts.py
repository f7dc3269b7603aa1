#!/usr/bin/env python3
"""Counts the instructions of plugind's parts by valgrind's callgrind, and the system calls of privd-hardware's by strace (valgrind 3.19
knows no openat2), and compares with what is kept in counts.tsv: load and machine change nothing of them, so that growth is seen where times
show none.

  tests/bench/counts.py PARTS_BENCH           fails where a part takes over 3 % more than is kept
  tests/bench/counts.py PARTS_BENCH --write   keeps what it counts; the commit's message says why it is more
  tests/bench/counts.py PARTS_BENCH --growing > docs/pictures/growth.tsv
                                              what docs/make_pictures.py draws: nodes that differ in one number

The system's libraries are counted, too: another release of them needs --write. Exit 77: a program is not here, or these are others."""

import argparse
import concurrent.futures
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

KEPT = pathlib.Path(__file__).with_suffix(".tsv")
MOST_MORE = 1.03
LARGE = 4096  # devices: times show those


def instructions(program: pathlib.Path, part: str) -> int:
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out.name}", program, "--run", part, "1"]
        subprocess.run(command, check=True, capture_output=True)
        return int(re.search(r"^totals: (\d+)", pathlib.Path(out.name).read_text(), re.MULTILINE)[1])


def calls(program: pathlib.Path, part: str) -> int:
    """What one time more adds. A file renamed or a filesystem mounted meanwhile, anywhere on the machine, lets openat2() beneath a
    directory fail with EAGAIN, and it is tried again: such a call is of the machine's load."""
    def total(times: int) -> int:
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run(["strace", "-f", "-o", out.name, program, "--run", part, str(times)], check=True, capture_output=True)
            lines = pathlib.Path(out.name).read_text().splitlines()
            return sum(re.search(r"\bopenat2\(.* = -1 EAGAIN ", line) is None for line in lines)
    return total(2) - total(1)


def counted(program: pathlib.Path, part: str) -> int:
    return (calls if is_of_files(part) else instructions)(program, part)


def is_of_files(part: str) -> bool:
    return any(word in part for word in ("sweep", "glance", "reread"))


def system() -> str:
    """What the counts are of, beside our own code."""
    return f"{platform.machine()} {' '.join(platform.libc_ver())}"


def kept() -> tuple[str, dict[str, int]]:
    first, *lines = KEPT.read_text().splitlines()
    counts = (line.rsplit("\t", 1) for line in lines)
    return first.removeprefix("# "), {part: int(count) for part, count in counts}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--write", action="store_true")
    which.add_argument("--growing", action="store_true")
    words = parser.parse_args()
    missing = [tool for tool in ("valgrind", "strace") if shutil.which(tool) is None]
    if missing:
        print(f"not here: {' '.join(missing)}")
        return 77
    listing = "--list-growing" if words.growing else "--list"
    listed = subprocess.run([words.program, listing], check=True, capture_output=True, text=True).stdout.splitlines()
    parts = [part for part in listed if f" {LARGE} devices" not in part]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = dict(zip(parts, pool.map(lambda part: counted(words.program, part), parts)))
    table = "".join([f"# {system()}\n", *(f"{part}\t{count}\n" for part, count in counts.items())])
    if words.growing:
        sys.stdout.write(table)
        return 0
    if words.write:
        KEPT.write_text(table)
        return 0
    of, before = kept()
    if of != system():
        print(f"what is kept is of {of}, this is {system()}")
        return 77
    faults = []
    for part, count in counts.items():
        was = before.get(part)
        if was is None:
            faults.append(f"{part}: {count}, and nothing is kept")
            continue
        print(f"{part:34}{count:>12}{was:>12}{count / was:>8.3f}")
        if count > was * MOST_MORE:
            faults.append(f"{part}: {count}, and {was} is kept")
    faults += [f"{part}: kept, and there is no such part" for part in before.keys() - counts.keys()]
    if faults:
        print("\n".join(faults), f"Where it is meant: tests/bench/counts.py {words.program} --write, and say why in the commit.", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
