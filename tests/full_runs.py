#!/usr/bin/env python3
"""The steps of `tests/run.sh --full`: which part has which, what each tests, and when it was last seen to its end.

  tests/full_runs.py steps        all of them
  tests/full_runs.py part N/M     the steps of part N of M, each on a line; fails where a part would take too long
  tests/full_runs.py record STEP MINUTES PASSED FAILED SKIPPED
                                  the step was run on what is committed
  tests/full_runs.py table        all of them, as a table for docs/results.md; exit 0 if every one stands

A step stands while nothing that it tests differs from what it was run on, whatever else was committed since, and if nothing
failed. What was run is known by its content, so that it is known after a rebase, too."""

import argparse
import dataclasses
import datetime
import hashlib
import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[1]
RECORD = pathlib.Path("tests/full_runs.tsv")
LONGEST = 100  # minutes of a part

BUILD = ("CMakeLists.txt", "CMakePresets.json", "cmake")
CORE = ("ipc/api", "ipc/base", "ipc/types", "plugind/core")
# Programs that only the attacks of tests/integration start.
ATTACKERS = ("tests/support/taken_over", "tests/support/taken_over_hardware")
# Tests that are scripts, and run the programs as they are shipped.
SCRIPTS = tuple(f"tests/{folder}" for folder in ("budget", "cluster", "deploy", "docs", "golden", "image", "monitoring", "mutants", "package", "supply"))
# What neither another architecture nor another release runs.
HERE = (*SCRIPTS, "tests/bench", "tests/fuzz", "tests/property")
CODE = (*BUILD, "cli", "ipc", "netd", "plugind", "privd", "proto", "rootless", "seccomp")


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    minutes: int  # on 2 processors, with an empty compiler cache
    paths: tuple[str, ...]
    what: str
    but: tuple[str, ...] = ()  # of these paths, folders that it has nothing of

    def tests(self, path: str) -> bool:
        """Of what is in its paths. docs/results.md and the record say what was seen, and are tested by nobody."""
        return path not in ("docs/results.md", str(RECORD)) and not path.startswith(tuple(f"{folder}/" for folder in self.but))


# run.sh has a function full_NAME for each.
STEPS = (
    Step("default", 80, (*CODE, "deploy", "docs", "sim", "tests"), "the default run"),
    Step("mutants", 20, (*CORE, "ipc", "privd", "tests/mutants", "sim", "tests/support", "tests/unit/plugind/ledger", "tests/unit/privd"), "every mutant of the ledger and of privd's gate"),
    Step("steps", 20, (*BUILD, *CORE, "tests/property", "sim", "tests/support"), "10^6 random steps of the ledger"),
    Step("kills", 40, (*CODE, "tests/integration", "sim", "tests/support"), "2,000 kills, 5,000 restarts of the kubelet, 5,000 interleavings of commands and allocations",
         (*ATTACKERS, *(f"tests/integration/{folder}" for folder in ("attacks", "dra", "events", "kubelet_dra", "sim")))),
    Step("cluster", 60, (*CODE, "deploy", "tests/cluster", "sim", "tests/support"), "the cluster's long cases", ATTACKERS),
    Step("plain", 30, (*CODE, "tests/property", "sim", "tests/support", "tests/unit", "tests/integration"), "tests of libraries without sanitizers"),
    Step("asan", 70, (*CODE, "sim", "tests"), "every test with AddressSanitizer and UndefinedBehaviorSanitizer", (*SCRIPTS, "tests/fuzz")),
    Step("tsan", 75, (*CODE, "sim", "tests"), "every test with ThreadSanitizer", (*SCRIPTS, "tests/fuzz")),
    Step("tidy", 60, (".clang-tidy", *CODE, "tests/tidy.py"), "clang-tidy on the product"),
    Step("tidy1", 50, (".clang-tidy", *CODE, "sim", "tests"), "clang-tidy on the one half of the tests and stand-ins", SCRIPTS),
    Step("tidy2", 50, (".clang-tidy", *CODE, "sim", "tests"), "clang-tidy on the other half", SCRIPTS),
    Step("builds", 50, (*CODE, "tests/supply"), "two builds have the same bytes"),
    Step("fuzz1", 60, (*CODE, "tests/fuzz", "sim", "tests/support"), "fuzzing, 180 s each of the one half of all targets"),
    Step("fuzz2", 60, (*CODE, "tests/fuzz", "sim", "tests/support"), "the other half"),
    Step("distro", 40, (*CODE, "deploy", "sim", "tests"), "Debian 13 in a chroot", (*HERE, "tests/machine")),
    Step("kernel", 45, (*CODE, "sim", "tests/machine"), "a kernel with mediated devices, VFIO's device nodes and its no-IOMMU mode, built, and the whole node on it"),
    Step("arm64", 60, (*CODE, "deploy", "docs/doctor.md", "sim", "tests"), "ARM64: cross-built, unit tests, the tour in a virtual machine with an SMMUv3, images and packages", (*HERE, "tests/integration", "tests/sandbox")),
)


class Wrong(Exception):
    """Told on one line."""


def git(*words: str, tree: pathlib.Path = TREE) -> str:
    return subprocess.run(["git", *words], cwd=tree, check=True, capture_output=True, text=True).stdout


def parts_of(count: int, steps: tuple[Step, ...] = STEPS) -> list[list[Step]]:
    """The longest first, each to the part that has least."""
    parts: list[list[Step]] = [[] for _ in range(count)]
    for step in sorted(steps, key=lambda step: -step.minutes):
        min(parts, key=lambda part: sum(one.minutes for one in part)).append(step)
    for part in parts:
        if sum(step.minutes for step in part) > LONGEST:
            raise Wrong(f"{count} parts would take more than {LONGEST} minutes: more are needed")
    return parts


def content(step: Step, tree: pathlib.Path = TREE) -> str:
    """Names what the step tests, as committed."""
    listed = git("ls-tree", "-r", "HEAD", "--", *step.paths, tree=tree).splitlines()
    tested = [line for line in listed if step.tests(line.partition("\t")[2])]
    return hashlib.sha256("\n".join(tested).encode()).hexdigest()[:12]


def changed(step: Step, tree: pathlib.Path = TREE) -> bool:
    status = git("status", "--porcelain", "--", *step.paths, tree=tree)
    return any(step.tests(line[3:]) for line in status.splitlines())


def recorded(tree: pathlib.Path = TREE) -> dict[str, list[str]]:
    """Per step: content, commit, date, minutes, passed, failed, skipped."""
    file = tree / RECORD
    lines = file.read_text().splitlines() if file.exists() else []
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines if not line.startswith("#")}


def record(name: str, counts: list[int], tree: pathlib.Path = TREE, steps: tuple[Step, ...] = STEPS) -> str:
    step = next((step for step in steps if step.name == name), None)
    if step is None:
        raise Wrong(f"no step {name}")
    if changed(step, tree):
        raise Wrong(f"{name} is not recorded: what it tests is not committed")
    entries = recorded(tree)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
    commit = git("rev-parse", "--short=9", "HEAD", tree=tree).strip()
    entries[name] = [content(step, tree), commit, date, *map(str, counts)]
    known = [step.name for step in steps if step.name in entries]
    head = "# step, content, commit, date, minutes, passed, failed, skipped: tests/full_runs.py\n"
    (tree / RECORD).write_text(head + "".join("\t".join([one, *entries[one]]) + "\n" for one in known))
    return f"{name}: recorded on {commit}"


def table(tree: pathlib.Path = TREE, steps: tuple[Step, ...] = STEPS) -> tuple[list[str], bool]:
    lines = ["| step | what | commit | date | minutes | passed, failed, skipped | stands |", "|---|---|---|---|---|---|---|"]
    entries, standing = recorded(tree), 0
    for step in steps:
        if step.name not in entries:
            lines.append(f"| {step.name} | {step.what} | | | | | never run to its end |")
            continue
        was, commit, date, minutes, passed, failed, skipped = entries[step.name]
        verdict = "yes"
        if failed != "0":
            verdict = "no: it failed"
        elif passed == "0":
            verdict = "no: it was skipped"
        elif was != content(step, tree) or changed(step, tree):
            verdict = "no: what it tests has changed"
        standing += verdict == "yes"
        lines.append(f"| {step.name} | {step.what} | {commit} | {date} | {minutes} | {passed}, {failed}, {skipped} | {verdict} |")
    lines += ["", f"{standing} of {len(steps)} steps stand."]
    return lines, standing == len(steps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("steps")
    commands.add_parser("part").add_argument("which", metavar="N/M")
    recording = commands.add_parser("record")
    recording.add_argument("step")
    recording.add_argument("counts", nargs=4, type=int, metavar="COUNT")
    commands.add_parser("table")
    words = parser.parse_args()
    try:
        if words.command == "steps":
            print("\n".join(step.name for step in STEPS))
        elif words.command == "record":
            print(record(words.step, words.counts))
        elif words.command == "table":
            lines, complete = table()
            print("\n".join(lines))
            return 0 if complete else 1
        else:
            number, _, count = words.which.partition("/")
            if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
                raise Wrong(f"no part '{words.which}': N/M with N from 1 to M")
            print("\n".join(step.name for step in parts_of(int(count))[int(number) - 1]))
    except Wrong as wrong:
        print(f"tests/full_runs.py: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
