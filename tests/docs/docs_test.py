#!/usr/bin/env python3
"""The shell blocks of README.md, ARCHITECTURE.md, docs/ and deploy/: each says in its first line whether it is run here
("```sh run") or why not ("```sh norun: REASON"). The former are run as they stand, in a copy of the tree beside which
the built programs lie; both are counted. A block marked "shown" ("```yaml shown") that follows one has lines that were all
said then; times, references and ages may differ. Blocks on the simulated node are left out where there can be none. And
docs/reference.md and pages of docs/security are what their scripts make of the programs, pages of names have those of the code,
and tests that docs/security names exist."""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing

import named_tests
import pages

TREE = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<info>.*)$")
SHELLS = ("sh", "bash", "shell", "console")
PATIENCE = 240  # seconds for one block
NODE = "docs/walk/node.sh"
PASSING = ((r"\d\d:\d\d:\d\dZ", "TIME"), (r"ref=[0-9a-f]{4}", "ref=REF"), (r"\d+ s ago", "N s ago"), (r"\s+", " "))


class Block(typing.NamedTuple):
    file: str
    line: int
    info: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def blocks_of(file: str, text: str) -> list[Block]:
    found, lines, opened = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened, lines = (number, fence["info"].strip()), []
        elif fence and not fence["info"].strip():
            found.append(Block(file, opened[0], opened[1], "\n".join(lines) + "\n"))
            opened = None
        else:
            lines.append(line)
    return found


def fault_of(block: Block) -> str | None:
    """What is wrong with how a block is marked; None for what is no shell block, too."""
    shell, _, mark = block.info.partition(" ")
    if shell not in SHELLS:
        return None
    if shell != "sh":
        return f"'{shell}': write sh"
    if mark == "run" or re.fullmatch(r"norun: \S.{3,}", mark):
        return None
    return f"'{block.info}' is neither 'sh run' nor 'sh norun: REASON'"


def listed_files() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TREE, check=True,
                             capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name and (TREE / name).exists()]


def documents(files: list[str]) -> list[str]:
    return [name for name in files
            if name.endswith(".md") and ("/" not in name or name.split("/")[0] in ("docs", "deploy"))]


def copy_tree(files: list[str], programs: pathlib.Path, to: pathlib.Path) -> None:
    for name in files:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TREE / name, to / name, follow_symlinks=False)
    as_someone = ["-c", "user.name=docs_test", "-c", "user.email=docs_test@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*as_someone, "commit", "-q", "-m", "as it stands"]):
        subprocess.run(["git", "-C", str(to), *words], check=True)
    (to / "build/release").mkdir(parents=True)
    (to / "build/release/bin").symlink_to(programs)


def lasting(line: str) -> str:
    """The line without what differs from run to run, and without its columns."""
    for pattern, word in PASSING:
        line = re.sub(pattern, word, line)
    return line.strip()


def untold(shown: str, said: str) -> list[str]:
    """The lines of `shown` that are not in `said`."""
    lines = {lasting(line) for line in said.splitlines()}
    return [line for line in shown.splitlines() if lasting(line) not in lines]


def is_shown(block: Block) -> bool:
    return block.info.endswith(" shown")


def runnable_of(blocks: list[Block]) -> list[tuple[Block, Block | None]]:
    """Blocks to run, each with what it is said to show."""
    return [(block, after if after and is_shown(after) and after.file == block.file else None)
            for block, after in zip(blocks, [*blocks[1:], None]) if block.info == "sh run"]


def node_is_possible() -> bool:
    return os.geteuid() == 0 and pathlib.Path("/dev/fuse").exists()


def are_shipped(programs: pathlib.Path) -> bool:
    """Built as they are shipped; a build with sanitizers loads other libraries, and is not hardened."""
    said = subprocess.run(["readelf", "-dW", programs / "privd"], check=True, capture_output=True, text=True).stdout
    return "BIND_NOW" in said and "asan" not in said and "tsan" not in said


def run(block: Block, tree: pathlib.Path, shown: Block | None = None) -> str | None:
    """None: it ended with 0, and said what is shown. Else what it said."""
    try:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=tree, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"did not end within {PATIENCE} s"
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{done.stdout[-3000:]}"
    missing = untold(shown.text, done.stdout) if shown else []
    return "\n".join([f"{shown.where} shows what it did not say:", *missing, "It said:", done.stdout[-3000:]]) if missing else None


MADE = {
    "docs/reference.md": ("docs/make_reference.py",),
    "docs/security/syscalls.md": ("docs/make_security.py", "syscalls"),
    "docs/security/numbers.md": ("docs/make_security.py", "numbers"),
}
# Counts what the programs load.
OF_SHIPPED = ("docs/security/numbers.md",)


def made_fault(page: str, programs: pathlib.Path) -> str | None:
    """How the page differs from what its script says now."""
    script, *words = MADE[page]
    made = subprocess.run([str(TREE / script), *words, "--programs", str(programs)], check=True,
                          capture_output=True, text=True).stdout.splitlines()
    kept = (TREE / page).read_text().splitlines()
    difference = list(difflib.unified_diff(kept, made, page, "the programs", lineterm="", n=0))
    return "\n".join([f"run {' '.join(MADE[page])} > {page}", *difference[:20]]) if difference else None


def check_the_checker() -> None:
    """A test that cannot fail shows nothing."""
    text = "```sh run\ntrue\n```\n```sh\nls\n```\n```sh norun:\n```\n```bash run\n```\n```sh norun: no node\n```\n```yaml\na: 1\n```\n"
    blocks = blocks_of("x.md", text)
    assert [block.line for block in blocks] == [1, 4, 7, 9, 11, 13], blocks
    assert [fault_of(block) is None for block in blocks] == [True, False, False, False, True, True], blocks
    with tempfile.TemporaryDirectory() as empty:
        assert run(Block("x.md", 1, "sh run", "false | true\n"), pathlib.Path(empty)) is not None
        assert run(blocks[0], pathlib.Path(empty)) is None
        pairs = runnable_of(blocks_of("x.md", "```sh run\n```\n```text shown\n```\n```text shown\n```\n"))
        assert [(block.line, shown.line) for block, shown in pairs] == [(1, 3)], pairs
        says = Block("x.md", 1, "sh run", "echo one; echo 'two  at 10:00:00Z'\n")
        assert run(says, pathlib.Path(empty), Block("x.md", 4, "shown", "two at 11:11:11Z\n")) is None
        assert run(says, pathlib.Path(empty), Block("x.md", 4, "shown", "one\nthree\n")) is not None


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIR", help="where the built programs are")
    programs = options.parse_args().programs.resolve()
    check_the_checker()
    pages.check_the_checker()
    named_tests.check_the_checker()
    files = listed_files()
    blocks = [block for name in documents(files) for block in blocks_of(name, (TREE / name).read_text())]
    failures = [f"{block.where}: {fault}" for block in blocks if (fault := fault_of(block))]
    runnable = runnable_of(blocks)
    shown = {block for _, block in runnable}
    failures += [f"{block.where}: shown by no block: put it behind one that is run"
                 for block in blocks if is_shown(block) and block not in shown]
    reasons = [block for block in blocks if block.info.startswith("sh norun: ")]
    shipped = are_shipped(programs)
    failures += [fault for page in MADE if (shipped or page not in OF_SHIPPED) and (fault := made_fault(page, programs))]
    failures += pages.faults() + named_tests.faults()
    with tempfile.TemporaryDirectory(prefix="vfiogate-docs-") as directory:
        tree = pathlib.Path(directory)
        copy_tree(files, programs, tree)
        for block, after in runnable:
            if NODE in block.text and not node_is_possible():
                print(f"skipped  {block.where}: the simulated node needs root and /dev/fuse")
                continue
            if "tests/supply/" in block.text and not shipped:
                print(f"skipped  {block.where}: these programs are not built as they are shipped")
                continue
            said = run(block, tree, after)
            print(f"{'ok' if said is None else 'FAILED':8} {block.where}")
            if said is not None:
                failures.append(f"{block.where}: {said}")
    for block in reasons:
        print(f"not run  {block.where}: {block.info.removeprefix('sh norun: ')}")
    for failure in failures:
        print(f"FAILED   {failure}")
    print(f"{len(runnable)} blocks run, {len(reasons)} not run")
    if not runnable:
        print("FAILED   no block is run: this shows nothing")
    return 1 if failures or not runnable else 0


if __name__ == "__main__":
    sys.exit(main())
