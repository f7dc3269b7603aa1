"""What became of each case, in the lines that GoogleTest prints: tests/run.sh counts by them (tests/count_results.py)."""

import unittest


def name_of(test: unittest.TestCase) -> tuple[str, str]:
    _, of, case = test.id().rsplit(".", 2)
    return of, case


class Results(unittest.TextTestResult):
    """`kinds`: by case, how it ended and why."""

    def __init__(self, *words):
        super().__init__(*words)
        self.kinds: dict[str, tuple[str, str]] = {}

    def begin(self, name: str) -> None:
        self.stream.writeln(f"[ RUN      ] {name}")
        self.stream.flush()

    def end(self, name: str) -> None:
        kind, text = self.kinds.setdefault(name, ("      OK", ""))
        if text:
            self.stream.writeln(text)  # now, as the rest may take minutes
        self.stream.writeln(f"[ {kind} ] {name}")
        self.stream.flush()

    def startTest(self, test):
        self.begin(".".join(name_of(test)))
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.end(".".join(name_of(test)))

    def printErrors(self):
        """They were printed when they happened."""

    def note(self, test, kind: str, text: str) -> None:
        if isinstance(test, unittest.TestCase):
            self.kinds[".".join(name_of(test))] = (kind, text)
        else:  # a class that could not be set up, "setUpClass (module.Class)": no case of it begins
            name = f"{test.id().rstrip(')').rpartition('.')[2]}.{test.id().partition(' ')[0]}"
            self.kinds[name] = (kind, text)
            self.begin(name)
            self.end(name)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, " FAILED ", self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, " FAILED ", self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.note(test, " FAILED ", (self.failures + self.errors)[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, " SKIPPED", reason)
