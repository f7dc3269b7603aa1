"""The tests that SECURITY.md and docs/security name exist: `Suite.Case` of GoogleTest, `Suite/Row` of a table of cases, `Class.test_case`
of Python, and `program_test`, a test of CTest."""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
CASE = re.compile(r"`([A-Z]\w+)([./])(\w+)`")
PROGRAM = re.compile(r"`(\w+_test)`")


class Known:
    """What there is, by the sources."""

    def __init__(self):
        sources = [path.read_text() for path in (TREE / "tests").rglob("*") if path.suffix in (".cc", ".h", ".py")]
        self.cases, self.suites = set(), set()
        for text in sources:
            self.cases |= {f"{suite}.{case}" for suite, case in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text, re.MULTILINE)}
            self.suites |= set(re.findall(r"INSTANTIATE_TEST_SUITE_P\(\s*\w+,\s*(\w+),", text))
            owner = ""
            for kind, name in re.findall(r"^(class|    def) (\w+)", text, re.MULTILINE):
                owner = name if kind == "class" else owner
                self.cases |= {f"{owner}.{name}"} if name.startswith("test_") else set()
        self.rows = {row for text in sources for row in re.findall(r'"([A-Z]\w+)"', text)}
        lists = [path.read_text() for path in (TREE / "tests").rglob("CMakeLists.txt")]
        self.programs = {name for text in lists for name in re.findall(r"(?:vfiogate_(?:machine_)?test\(|NAME )(\w+_test)\b", text)}

    def has(self, suite: str, between: str, case: str) -> bool:
        return f"{suite}.{case}" in self.cases if between == "." else suite in self.suites and case in self.rows


def unknown(text: str, known: Known) -> list[str]:
    return [f"{suite}{between}{case}" for suite, between, case in CASE.findall(text) if not known.has(suite, between, case)] + [
        program for program in PROGRAM.findall(text) if program not in known.programs]


def faults() -> list[str]:
    known = Known()
    pages = [TREE / "SECURITY.md", *sorted((TREE / "docs/security").glob("*.[mj]*"))]
    return [f"{page.relative_to(TREE)}: there is no test `{name}`" for page in pages for name in unknown(page.read_text(), known)]


def check_the_checker() -> None:
    known = Known()
    there = "`Split.I1_AGroupIsNeverLentTwice` `HangsUp/Garbage` `Image.test_same_input_gives_same_bytes` `image_test` `split_test`"
    assert not unknown(there, known), unknown(there, known)
    missing = "`Split.NoSuchCase` `HangsUp/NoSuchRow` `Image.test_nothing` `no_such_test` `Nobody/Garbage`"
    assert len(unknown(missing, known)) == 5, unknown(missing, known)
