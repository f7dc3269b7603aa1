#!/usr/bin/env python3
"""What each fuzz target reached, as a table: reached.py TARGET... after tests/fuzz/long.sh.

runs, runs/s   of the last run, from its log
edges          reached, of those in the files of this tree (tests aside) that the target reaches at all
inputs         in the working corpus and among the committed seeds
found          crashes, timeouts and leaks of the last run
"""

import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "build/checked"
FUNCTION = re.compile(r"^(COVERED|UNCOVERED)_FUNC: hits: \d+ edges: (\d+)/(\d+) .* (\S+?):\d+$")


def corpora(target: str) -> list[pathlib.Path]:
    return [path for path in (BUILD / "fuzz/corpus" / target, TREE / "tests/fuzz/corpus" / target) if path.is_dir()]


def inputs(target: str) -> int:
    return sum(1 for folder in corpora(target) for _ in folder.iterdir())


def edges(target: str) -> tuple[int, int, int]:
    """Reached, all, and in how many files."""
    command = [BUILD / "fuzz" / target, "-runs=0", "-print_coverage=1", *corpora(target)]
    report = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace", check=False).stderr
    files: dict[pathlib.Path, list[int]] = {}
    for line in report.splitlines():
        if function := FUNCTION.match(line):
            path = pathlib.Path(function[4]).resolve()
            if not path.is_relative_to(TREE) or path.is_relative_to(BUILD) or path.is_relative_to(TREE / "tests"):
                continue
            counts = files.setdefault(path, [0, 0])
            counts[0] += int(function[2])
            counts[1] += int(function[3])
    reached = [counts for counts in files.values() if counts[0] > 0]
    return sum(counts[0] for counts in reached), sum(counts[1] for counts in reached), len(reached)


def stat(log: str, name: str) -> str:
    found = re.search(rf"stat::{name}:\s+(\d+)", log)
    return f"{int(found[1]):,}" if found else "-"


def row(target: str) -> str:
    log = (BUILD / "logs" / f"{target}.log").read_text(errors="replace")
    hit, all_of_them, files = edges(target)
    share = f"{hit:,} of {all_of_them:,} ({100 * hit // max(all_of_them, 1)} %), {files} files"
    found = log.count("Test unit written to")
    return (f"{target:22} {stat(log, 'number_of_executed_units'):>12} {stat(log, 'average_exec_per_sec'):>8}  "
            f"{share:36} {inputs(target):>6} {found:>5}")


def main() -> None:
    print(f"{'target':22} {'runs':>12} {'runs/s':>8}  {'edges':36} {'inputs':>6} {'found':>5}")
    for target in sys.argv[1:]:
        print(row(target), flush=True)


if __name__ == "__main__":
    main()
