#!/usr/bin/env python3
"""Reads GoogleTest's XML results of one ctest run and prints, tab-separated, what tests/run.sh adds
up: passed N; failed NAME; skipped NAME: REASON; output LINES of a failure. A test program that left
no result file crashed or was killed, and counts as one failure."""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def last_words(log: str, headline: str) -> list[str]:
    """What a program that is no GoogleTest program said last; ctest prints it below its outcome."""
    said = log.partition(headline)[2].split("\n", 1)[-1]
    said = re.split(r"^ *(?:\d+/\d+ Test|Start) +#?\d+:", said, maxsplit=1, flags=re.MULTILINE)[0]
    return said.rstrip().splitlines()[-30:]


def main() -> int:
    results, log = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text(errors="replace")
    passed = 0
    lines = []
    reported = set()  # programs that left results
    failing = set()   # those of them with a case that failed
    seen = set()      # programs whose outcome ctest said
    for file in sorted(results.glob("*.xml")):
        try:
            root = ElementTree.parse(file).getroot()
        except ElementTree.ParseError:
            continue
        reported.add(file.stem)
        for case in root.iter("testcase"):
            name = f'{case.get("classname")}.{case.get("name")}'
            failures = case.findall("failure")
            skip = case.find("skipped")
            if failures:
                failing.add(file.stem)
                lines.append(f"failed\t{name}")
                for failure in failures:
                    for line in (failure.text or "").splitlines()[:12]:
                        lines.append(f"output\t    {line}")
            elif case.get("result") == "skipped" or skip is not None:
                message = (skip.get("message", "") if skip is not None else "").strip()
                reason = message.splitlines()[-1] if message else "no reason given"
                lines.append(f"skipped\t{name}: {reason}")
            elif case.get("status") == "run":
                passed += 1
            lines += [f"output\t{name}: {measured.text}" for measured in case.findall("measured")]
    # "3/9 Test #3: types_test ....   Passed", "***Failed", "***Timeout", "Subprocess aborted***Exception: ..."
    for match in re.finditer(r"Test +#\d+: (\S+) \.*\s*(Passed|[A-Za-z ]*\*\*\*.*?)(?:  |$)", log, re.MULTILINE):
        program, outcome = match.group(1), match.group(2).strip()
        seen.add(program)
        if outcome == "Passed":
            if program not in reported:
                passed += 1  # a test that is no GoogleTest program
            continue
        if outcome == "***Skipped":  # its SKIP_RETURN_CODE; ctest keeps what it printed to itself
            if program in reported:
                continue  # it left the reason of each of its cases
            lines.append(f"skipped\t{program}: run it alone to see why")
            continue
        if program not in failing:
            lines.append(f"failed\t{program} ({outcome.replace('*', ' ').strip()})")
            lines += [f"output\t    {line}" for line in last_words(log, match.group(0))]
    # Whatever ctest calls failed fails here, however it was put above: "27 - plugind_lib_test (Not Run)".
    summary = log.partition("The following tests FAILED:")[2]
    for program, why in re.findall(r"^\s+\d+ - (\S+) \((.*)\)", summary, re.MULTILINE):
        if program not in seen:
            lines.append(f"failed\t{program} ({why})")
    if passed == 0 and not lines:
        print("no test ran", file=sys.stderr)
        return 1
    print(f"passed\t{passed}")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
