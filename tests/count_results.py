#!/usr/bin/env python3
"""Reads what `ctest --output-junit` wrote of one run and prints, tab-separated, what tests/run.sh adds up: passed N;
failed NAME; skipped NAME: REASON; output LINES of a failure, or what a case measured.

Usage: count_results.py FILE LOG    LOG: what that ctest printed, which alone says what a test that broke died of

What a test printed in GoogleTest's form tells its cases apart, so a program that ctest runs whole counts as many as it
has. Any other test counts as one. Whatever ctest calls failed fails here, and so does a case that GoogleTest calls failed
or that did not end."""

import dataclasses
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

BEGIN = re.compile(r"^\[ RUN      \] (\S+)")
END = re.compile(r"\[(       OK |  FAILED  |  SKIPPED )\] (\S+)")
KINDS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
MOST_LINES = 12  # of what one assertion said
LAST_LINES = 30  # of a test that said nothing of that kind


@dataclasses.dataclass
class Case:
    name: str
    kind: str = "unfinished"
    said: list[str] = dataclasses.field(default_factory=list)


def cases_of(output: str) -> list[Case]:
    """GoogleTest's list of failures at the end names cases again: only the one that runs can end."""
    cases: list[Case] = []
    for line in output.splitlines():
        running = cases[-1] if cases and cases[-1].kind == "unfinished" else None
        if begin := BEGIN.match(line):
            cases.append(Case(begin.group(1)))
        elif running and (end := END.search(line)) and end.group(2).rstrip(",") == running.name:
            running.kind = KINDS[end.group(1).strip()]
        elif running:
            running.said.append(line)
    return cases


def complaints(said: list[str]) -> list[str]:
    """The assertions that failed, and the seed to see it again; without either what was said last."""
    starts = [i for i, line in enumerate(said) if line.endswith(": Failure")]
    if not starts:
        return said[-LAST_LINES:]
    shown = [line for line in said if line.startswith("seed ")]
    for start, end in zip(starts, starts[1:] + [len(said)]):
        shown += said[start:min(end, start + MOST_LINES)]
    return shown


def reason_of(said: list[str]) -> str:
    after = next((i + 1 for i, line in enumerate(said) if line.endswith(": Skipped")), 0)
    words = [line.strip() for line in said if line.strip()]
    reason = next((line.strip() for line in said[after:] if line.strip()), "") if after else (words[-1] if words else "")
    return reason.removeprefix("skipped: ") or "no reason given"


def ends_of(log: str) -> dict[str, str]:
    """"SEGFAULT", "Timeout", "Not Run" and the like, by test."""
    summary = log.partition("The following tests FAILED:")[2]
    return dict(re.findall(r"^\s+\d+ - (\S+) \((.*)\)", summary, re.MULTILINE))


class Count:
    def __init__(self, ends: dict[str, str]) -> None:
        self.ends = ends
        self.passed = 0
        self.lines: list[str] = []

    def fail(self, name: str, said: list[str]) -> None:
        self.lines.append(f"failed\t{name}")
        self.lines += [f"output\t    {line}" for line in said]

    def skip(self, name: str, said: list[str]) -> None:
        self.lines.append(f"skipped\t{name}: {reason_of(said)}")

    def test(self, test: ElementTree.Element) -> None:
        name, status = test.get("name", ""), test.get("status")
        output = (test.findtext("system-out") or "").rstrip()
        cases = cases_of(output)
        for case in cases:
            self.case(name if name.endswith(f".{case.name}") else f"{name}.{case.name}", case, name)
        bad = any(case.kind in ("failed", "unfinished") for case in cases)
        said = output.splitlines()
        skip = test.find("skipped")
        if skip is not None and skip.get("message", "").startswith("SKIP_"):
            if not cases:
                self.skip(name, said)
        elif status != "run":
            if not bad:
                self.fail(f"{name} ({self.ends.get(name, status)})", said[-LAST_LINES:])
        elif not cases:
            self.passed += 1
        self.lines += [f"output\t{line.removeprefix('measured: ')}" for line in said if line.startswith("measured: ")]

    def case(self, name: str, case: Case, test: str) -> None:
        if case.kind == "passed":
            self.passed += 1
        elif case.kind == "skipped":
            self.skip(name, case.said)
        elif case.kind == "failed":
            self.fail(name, complaints(case.said))
        else:
            self.fail(f"{name} ({self.ends.get(test, 'did not end')})", case.said[-LAST_LINES:])


def main() -> int:
    results, log = (pathlib.Path(word) for word in sys.argv[1:])
    count = Count(ends_of(log.read_text(errors="replace")))
    tests = list(ElementTree.parse(results).getroot().iter("testcase")) if results.exists() else []
    for test in tests:
        count.test(test)
    if not tests:
        print("no test ran", file=sys.stderr)
        return 1
    print(f"passed\t{count.passed}")
    print("\n".join(count.lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
