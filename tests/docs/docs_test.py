#!/usr/bin/env python3
"""The shell blocks of README.md, ARCHITECTURE.md, docs/ and deploy/: each says in its first line whether it is run here
("```sh run") or why not ("```sh norun: REASON"). The former are run as they stand, in a copy of the tree beside which
the built programs lie; both are counted. And docs/reference.md is what docs/make_reference.py makes of the programs."""

import argparse
import difflib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing

TREE = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<info>.*)$")
SHELLS = ("sh", "bash", "shell", "console")
PATIENCE = 240  # seconds for one block


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


def run(block: Block, tree: pathlib.Path) -> str | None:
    """None: it ended with 0. Else what it said."""
    try:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=tree, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"did not end within {PATIENCE} s"
    return None if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout[-3000:]}"


def reference_fault(programs: pathlib.Path) -> str | None:
    made = subprocess.run([str(TREE / "docs/make_reference.py"), "--programs", str(programs)], check=True,
                          capture_output=True, text=True).stdout.splitlines()
    kept = (TREE / "docs/reference.md").read_text().splitlines()
    difference = list(difflib.unified_diff(kept, made, "docs/reference.md", "the programs", lineterm="", n=0))
    return "\n".join(["run docs/make_reference.py > docs/reference.md", *difference[:20]]) if difference else None


def check_the_checker() -> None:
    """A test that cannot fail shows nothing."""
    text = "```sh run\ntrue\n```\n```sh\nls\n```\n```sh norun:\n```\n```bash run\n```\n```sh norun: no node\n```\n```yaml\na: 1\n```\n"
    blocks = blocks_of("x.md", text)
    assert [block.line for block in blocks] == [1, 4, 7, 9, 11, 13], blocks
    assert [fault_of(block) is None for block in blocks] == [True, False, False, False, True, True], blocks
    with tempfile.TemporaryDirectory() as empty:
        assert run(Block("x.md", 1, "sh run", "false | true\n"), pathlib.Path(empty)) is not None
        assert run(blocks[0], pathlib.Path(empty)) is None


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIR", help="where the built programs are")
    programs = options.parse_args().programs.resolve()
    check_the_checker()
    files = listed_files()
    blocks = [block for name in documents(files) for block in blocks_of(name, (TREE / name).read_text())]
    failures = [f"{block.where}: {fault}" for block in blocks if (fault := fault_of(block))]
    runnable = [block for block in blocks if block.info == "sh run"]
    reasons = [block for block in blocks if block.info.startswith("sh norun: ")]
    if fault := reference_fault(programs):
        failures.append(fault)
    with tempfile.TemporaryDirectory(prefix="vfiogate-docs-") as directory:
        tree = pathlib.Path(directory)
        copy_tree(files, programs, tree)
        for block in runnable:
            said = run(block, tree)
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
