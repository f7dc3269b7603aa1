"""The tests that SECURITY.md, ARCHITECTURE.md, docs/limits.md and docs/security name exist: `Suite.Case` of GoogleTest, `Suite.*`, `Suite/Row`
of a table of cases, which its test's sources have, `Class.test_case` of Python, `program_test`, a test of CTest, and `target_fuzz`. Any
other `Word` in capitals, as a suite alone, stands in some source. Each fuzz target is on the page about them and has seeds."""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
CASE = re.compile(r"`([A-Z]\w+)([./])(\w+|(?<=\.)\*)`")
WORD = re.compile(r"`([A-Z][a-z]+\w*)`")
OF_THE_KERNEL = {"VmData"}
PROGRAM = re.compile(r"`(\w+_(?:test|fuzz))`")


class Known:
    """What there is, by the sources."""

    def __init__(self):
        sources = {path: path.read_text() for folder in ("sim", "tests")
                   for path in (TREE / folder).rglob("*") if path.suffix in (".cc", ".h", ".py") and path != pathlib.Path(__file__).resolve()}
        self.cases, self.rows = set(), {}
        for path, text in sources.items():
            self.cases |= {f"{suite}.{case}" for suite, case in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text, re.MULTILINE)}
            for suite in re.findall(r"INSTANTIATE_TEST_SUITE_P\(\s*\w+,\s*(\w+),", text):
                self.rows.setdefault(suite, set()).update(rows_of(path, sources))
            owner = ""
            for kind, name in re.findall(r"^(class|    def) (\w+)", text, re.MULTILINE):
                owner = name if kind == "class" else owner
                self.cases |= {f"{owner}.{name}"} if name.startswith("test_") else set()
        self.words = OF_THE_KERNEL | {word for text in sources.values() for word in re.findall(r"\b[A-Z][a-z]+\w*", text)}
        for folder in ("ipc", "privd", "plugind", "netd", "seccomp", "proto"):
            for path in (TREE / folder).rglob("*.*"):
                self.words |= set(re.findall(r"\b[A-Z][a-z]+\w*", path.read_text())) if path.suffix in (".cc", ".h", ".proto") else set()
        lists = [path.read_text() for path in (TREE / "tests").rglob("CMakeLists.txt")]
        self.programs = {name for text in lists for name in re.findall(r"(?:vfiogate_(?:machine_)?test\(|NAME )(\w+_test)\b", text)}
        self.targets = {name for text in lists for name in re.findall(r"vfiogate_fuzz\((\w+_fuzz)\b", text)}
        self.programs |= self.targets

    def has(self, suite: str, between: str, case: str) -> bool:
        if case == "*":
            return any(known.startswith(suite + ".") for known in self.cases)
        return f"{suite}.{case}" in self.cases if between == "." else case in self.rows.get(suite, set())


def rows_of(path: pathlib.Path, sources: dict[pathlib.Path, str]) -> set[str]:
    """Quoted words of a test's source, and of what it includes of the tests."""
    included = [TREE / name for name in re.findall(r'#include "((?:tests|sim)/[^"]*)"', sources[path])]
    files = [path, *included, *(file.with_suffix(".cc") for file in included)]
    return {row for file in files for row in re.findall(r'"([A-Z]\w+)"', sources.get(file, ""))}


def unknown(text: str, known: Known) -> list[str]:
    return [f"{suite}{between}{case}" for suite, between, case in CASE.findall(text) if not known.has(suite, between, case)] + [
        program for program in PROGRAM.findall(text) if program not in known.programs] + [
            word for word in WORD.findall(text) if word not in known.words]


def faults() -> list[str]:
    known = Known()
    pages = [TREE / "SECURITY.md", TREE / "ARCHITECTURE.md", TREE / "docs/limits.md", *sorted((TREE / "docs/security").glob("*.[mj]*"))]
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
    there = "`Split.I1_AGroupIsNeverAllocatedTwice` `HangsUp/Garbage` `Image.test_same_input_gives_same_bytes` `image_test` `split_test` `config_fuzz` `OwnThreads.*` `RootMemory`"
    assert not unknown(there, known), unknown(there, known)
    missing = "`Split.NoSuchCase` `HangsUp/NoSuchRow` `Image.test_nothing` `no_such_test` `Nobody/Garbage` `no_such_fuzz` `HangsUp/Accept4` `Nobody.*` `NobodysSuite`"
    assert len(unknown(missing, known)) == 9, unknown(missing, known)
