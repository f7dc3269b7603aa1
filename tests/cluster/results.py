"""What became of each case, in GoogleTest's form of XML: tests/run.sh counts by it (tests/count_results.py)."""

import os
import pathlib
import unittest
import xml.etree.ElementTree as ElementTree


def place_of(name: str) -> pathlib.Path | None:
    """Where GTEST_OUTPUT wants it, if it does."""
    form, _, directory = os.environ.get("GTEST_OUTPUT", "").partition(":")
    return pathlib.Path(directory) / f"{name}.xml" if form == "xml" and directory else None


def name_of(test: unittest.TestCase) -> tuple[str, str]:
    _, of, case = test.id().rsplit(".", 2)
    return of, case


class Results(unittest.TextTestResult):
    """`outcomes`: by case, what it failed with or why it was skipped."""

    def __init__(self, *words):
        super().__init__(*words)
        self.outcomes: dict[tuple[str, str], tuple[str, str]] = {}

    def stopTest(self, test):
        super().stopTest(test)
        kind, text = self.outcomes.setdefault(name_of(test), ("passed", ""))
        if kind == "failed":  # now, as the rest may take minutes
            self.stream.writeln(text)

    def printErrors(self):
        """They were printed when they happened."""

    def note(self, test, kind: str, text: str) -> None:
        if isinstance(test, unittest.TestCase):
            self.outcomes[name_of(test)] = (kind, text)
        else:  # a class that could not be set up: "setUpClass (module.Class)"
            self.outcomes[(test.id().rstrip(")").rpartition(".")[2], test.id().partition(" ")[0])] = (kind, text)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, "failed", self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, "failed", self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.note(test, "failed", (self.failures + self.errors)[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped", reason)


def write(file: pathlib.Path, outcomes: dict[tuple[str, str], tuple[str, str]], measured: list[tuple[str, str]]) -> None:
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name="cluster")
    for (of, name), (kind, text) in outcomes.items():
        result = "skipped" if kind == "skipped" else "completed"
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=of, status="run", result=result)
        if kind == "failed":
            ElementTree.SubElement(case, "failure").text = last_lines(text)
        elif kind == "skipped":
            ElementTree.SubElement(case, "skipped", message=text)
        for which, words in measured:
            if which == f"{of}.{name}":
                ElementTree.SubElement(case, "measured").text = words
    ElementTree.ElementTree(root).write(file)


def last_lines(text: str) -> str:
    """The reason of a Python failure is at its end; who counts shows the first lines."""
    lines = text.strip().splitlines()
    at = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].startswith(("AssertionError", "waiting.", "node."))), 0)
    return "\n".join(lines[at:][:12])
