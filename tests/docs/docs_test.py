#!/usr/bin/env python3
"""The shell blocks of README.md, ARCHITECTURE.md, docs/ and deploy/: each says in its first line whether it is run here
("```sh run"), on a real node by tests/cluster ("```sh cluster"), or why not ("```sh norun: REASON"); more in blocks.py. The first are run
as they stand, in a copy of the tree beside which the built programs lie; all are counted. A block marked "shown" ("```yaml shown") that
follows one has lines that were all said then; times, references and ages may differ. Blocks on the simulated node are left out where there
can be none. And docs/reference.md and pages of docs/security are what their scripts make of the programs, pages of names have those of the
code, and tests that docs/security names exist, as do rows and sections of docs/design that code cites."""

import argparse
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import typing

import citations
import log_fields
import named_tests
import pages
from blocks import (NODE, ON_A_CLUSTER, TREE, Block, blocks_of, copy_tree, fault_of, is_shown, listed_files, on_a_cluster, run,
                    runnable_of)


def documents(files: list[str]) -> list[str]:
    return [name for name in files
            if name.endswith(".md") and ("/" not in name or name.split("/")[0] in ("docs", "deploy"))]


def node_is_possible() -> bool:
    return os.geteuid() == 0 and pathlib.Path("/dev/fuse").exists()


def are_shipped(programs: pathlib.Path) -> bool:
    """Built as they are shipped; a build with sanitizers loads other libraries, and is not hardened."""
    said = subprocess.run(["readelf", "-dW", programs / "privd-daemon"], check=True, capture_output=True, text=True).stdout
    return "BIND_NOW" in said and "asan" not in said and "tsan" not in said


MADE = {
    "docs/reference.md": ("docs/make_reference.py",),
    "docs/security/syscalls.md": ("docs/make_security.py", "syscalls"),
    "docs/security/numbers.md": ("docs/make_security.py", "numbers"),
    "docs/pictures/topology.svg": ("docs/make_pictures.py", "topology"),
    "docs/pictures/processes.svg": ("docs/make_pictures.py", "processes"),
    "docs/pictures/growth.svg": ("docs/make_pictures.py", "growth"),
}
# Counts what the programs load.
OF_SHIPPED = ("docs/security/numbers.md",)
# Drawn on the simulated node.
OF_NODE = ("docs/pictures/topology.svg",)


def made_fault(page: str, programs: pathlib.Path) -> str | None:
    """How the page differs from what its script says now."""
    script, *words = MADE[page]
    made = subprocess.run([str(TREE / script), *words, "--programs", str(programs)], check=True,
                          capture_output=True, text=True).stdout.splitlines()
    kept = (TREE / page).read_text().splitlines()
    difference = list(difflib.unified_diff(kept, made, page, "the programs", lineterm="", n=0))
    return "\n".join([f"run {' '.join(MADE[page])} > {page}", *difference[:20]]) if difference else None


NO_NODE = "the simulated node needs root and /dev/fuse"


class Cases:
    """In GoogleTest's form, by which tests/count_results.py tells them apart."""

    def __init__(self) -> None:
        self.failed = False

    def run(self, name: str, fault: typing.Callable[[], str | None]) -> None:
        """`fault`: what is wrong; None or nothing if all is well."""
        self.begin(name)
        began = time.monotonic()
        said = fault()
        self.failed |= bool(said)
        if said:
            print(said)
        print(f"[{'  FAILED  ' if said else '       OK '}] {named(name)} ({time.monotonic() - began:.0f} s)", flush=True)

    def skip(self, name: str, why: str) -> None:
        self.begin(name)
        print(f"{why}\n[  SKIPPED ] {named(name)}", flush=True)

    def begin(self, name: str) -> None:
        print(f"[ RUN      ] {named(name)}", flush=True)


def named(name: str) -> str:
    return name.replace(" ", "_")


def mark_faults(blocks: list[Block]) -> list[str]:
    shown = {block for _, block in runnable_of(blocks) + on_a_cluster(blocks)}
    marked_cluster = {block.file for block in blocks if block.info == "sh cluster"}
    return [
        *(f"{block.where}: {fault}" for block in blocks if (fault := fault_of(block))),
        *(f"{block.where}: shown by no block: put it behind one that is run" for block in blocks if is_shown(block) and block not in shown),
        *(f"{page}: no block of it is marked `sh cluster`" for page in ON_A_CLUSTER if page not in marked_cluster),
    ]


def check_the_checker() -> None:
    """A test that cannot fail shows nothing."""
    text = "```sh run\ntrue\n```\n```sh\nls\n```\n```sh norun:\n```\n```bash run\n```\n```sh norun: no node\n```\n```yaml\na: 1\n```\n"
    blocks = blocks_of("x.md", text)
    assert [block.line for block in blocks] == [1, 4, 7, 9, 11, 13], blocks
    assert [fault_of(block) is None for block in blocks] == [True, False, False, False, True, True], blocks
    both = blocks_of("x.md", f"```sh cluster\n```\n```sh run\n{NODE}\n```\n```text shown\n```\n```sh run\n```\n```sh cluster\n```\n```sh run\n```\n")
    assert [fault_of(block) is None for block in both] == [False, True, True, True, False, True], "x.md is run on no cluster"
    assert [(block.line, shown and shown.line) for block, shown in on_a_cluster(both)] == [(1, 6), (8, None), (10, None), (12, None)]
    assert [(block.line, shown and shown.line) for block, shown in runnable_of(both)] == [(3, 6), (8, None), (12, None)]
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
    log_fields.check_the_checker()
    named_tests.check_the_checker()
    citations.check_the_checker()
    files = listed_files()
    blocks = [block for name in documents(files) for block in blocks_of(name, (TREE / name).read_text())]
    cases = Cases()
    runnable = runnable_of(blocks)
    cases.run("how blocks are marked", lambda: "\n".join(mark_faults(blocks)))
    shipped = are_shipped(programs)
    for page in MADE:
        if page in OF_NODE and not node_is_possible():
            cases.skip(page, NO_NODE)
        elif shipped or page not in OF_SHIPPED:
            cases.run(page, lambda page=page: made_fault(page, programs))
    for held in (pages, log_fields, named_tests, citations):
        cases.run(held.__name__, lambda held=held: "\n".join(held.faults()))
    with tempfile.TemporaryDirectory(prefix="vfiogate-docs-") as directory:
        tree = pathlib.Path(directory)
        copy_tree(files, programs, tree)
        for block, after in runnable:
            if NODE in block.text and not node_is_possible():
                cases.skip(block.where, NO_NODE)
            elif "tests/supply/" in block.text and not shipped:
                cases.skip(block.where, "these programs are not built as they are shipped")
            else:
                cases.run(block.where, lambda block=block, after=after: run(block, tree, after))
    on_cluster = sum(block.info == "sh cluster" for block in blocks)
    reasons = [block for block in blocks if block.info.startswith("sh norun: ")]
    for block in reasons:
        print(f"not run  {block.where}: {block.info.removeprefix('sh norun: ')}")
    cases.run("that blocks are run", lambda: None if runnable else "no block is run: this shows nothing")
    print(f"{len(runnable)} blocks run, {on_cluster} by tests/cluster, {len(reasons)} not run")
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
