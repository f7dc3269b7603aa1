"""The tests that SECURITY.md and docs/security name exist: `Suite.Case` of GoogleTest, `Suite/Row` of a table of cases, `Class.test_case`
of Python, `program_test`, a test of CTest, and `target_fuzz`. Each fuzz target is on the page about them and has seeds."""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
CASE = re.compile(r"`([A-Z]\w+)([./])(\w+)`")
PROGRAM = re.compile(r"`(\w+_(?:test|fuzz))`")


class Known:
    """What there is, by the sources."""

    def __init__(self):
        sources = [path.read_text() for folder in ("sim", "tests")
                   for path in (TREE / folder).rglob("*") if path.suffix in (".cc", ".h", ".py")]
        self.cases, self.suites = set(), set()
        for text in sources:
            self.cases |= {f"{suite}.{case}" for suite, case in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text, re.MULTILINE)}
            self.suites |= set(re.findall(r"INSTANTIATE_TEST_SUITE_P\(\s*\w+,\s*(\w+),", text))
            owner = ""
            for kind, name in re.findall(r"^(class|    def) (\w+)", text, re.MULTILINE):
                owner = name if kind == "class" else owner
                self.cases |= {f"{owner}.{name}"} if name.startswith("test_") else set()
        self.rows = {row for text in sources for row in re.findall(r'"([A-Z]\w+)"', text)}
        lists = [path.read_text() for path in (TREE / "tests").rglob("CMakeLists.txt")]
        self.programs = {name for text in lists for name in re.findall(r"(?:vfiogate_(?:machine_)?test\(|NAME )(\w+_test)\b", text)}
        self.targets = {name for text in lists for name in re.findall(r"vfiogate_fuzz\((\w+_fuzz)\b", text)}
        self.programs |= self.targets

    def has(self, suite: str, between: str, case: str) -> bool:
        return f"{suite}.{case}" in self.cases if between == "." else suite in self.suites and case in self.rows


def unknown(text: str, known: Known) -> list[str]:
    return [f"{suite}{between}{case}" for suite, between, case in CASE.findall(text) if not known.has(suite, between, case)] + [
        program for program in PROGRAM.findall(text) if program not in known.programs]


def faults() -> list[str]:
    known = Known()
    pages = [TREE / "SECURITY.md", *sorted((TREE / "docs/security").glob("*.[mj]*"))]
    absent = [f"{page.relative_to(TREE)}: there is no test `{name}`" for page in pages for name in unknown(page.read_text(), known)]
    return absent + untold_targets(known)


def untold_targets(known: Known) -> list[str]:
    """Fuzz targets that tests/fuzz/README.md does not have, or that begin with nothing."""
    told = set(PROGRAM.findall((TREE / "tests/fuzz/README.md").read_text()))
    seeded = {path.name for path in (TREE / "tests/fuzz/corpus").iterdir() if any(path.iterdir())}
    return [f"tests/fuzz/README.md does not have `{name}`" for name in sorted(known.targets - told)] + [
        f"tests/fuzz/corpus/{name} has no seeds" for name in sorted(known.targets - seeded)]


def check_the_checker() -> None:
    known = Known()
    there = "`Split.I1_AGroupIsNeverAllocatedTwice` `HangsUp/Garbage` `Image.test_same_input_gives_same_bytes` `image_test` `split_test` `config_fuzz`"
    assert not unknown(there, known), unknown(there, known)
    missing = "`Split.NoSuchCase` `HangsUp/NoSuchRow` `Image.test_nothing` `no_such_test` `Nobody/Garbage` `no_such_fuzz`"
    assert len(unknown(missing, known)) == 6, unknown(missing, known)
