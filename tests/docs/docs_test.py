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

import citations
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
    named_tests.check_the_checker()
    citations.check_the_checker()
    files = listed_files()
    blocks = [block for name in documents(files) for block in blocks_of(name, (TREE / name).read_text())]
    failures = [f"{block.where}: {fault}" for block in blocks if (fault := fault_of(block))]
    runnable = runnable_of(blocks)
    cluster = [block for block in blocks if block.info == "sh cluster"]
    shown = {block for _, block in runnable + on_a_cluster(blocks)}
    failures += [f"{block.where}: shown by no block: put it behind one that is run"
                 for block in blocks if is_shown(block) and block not in shown]
    reasons = [block for block in blocks if block.info.startswith("sh norun: ")]
    shipped = are_shipped(programs)
    for page in MADE:
        if page in OF_NODE and not node_is_possible():
            print(f"skipped  {page}: the simulated node needs root and /dev/fuse")
        elif (shipped or page not in OF_SHIPPED) and (fault := made_fault(page, programs)):
            failures.append(fault)
    failures += pages.faults() + named_tests.faults() + citations.faults()
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
            began = time.monotonic()
            said = run(block, tree, after)
            print(f"{'ok' if said is None else 'FAILED':8} {block.where} ({time.monotonic() - began:.0f} s)")
            if said is not None:
                failures.append(f"{block.where}: {said}")
    failures += [f"{page}: no block of it is marked `sh cluster`" for page in ON_A_CLUSTER if page not in {block.file for block in cluster}]
    for block in reasons:
        print(f"not run  {block.where}: {block.info.removeprefix('sh norun: ')}")
    for failure in failures:
        print(f"FAILED   {failure}")
    print(f"{len(runnable)} blocks run, {len(cluster)} by tests/cluster, {len(reasons)} not run")
    if not runnable:
        print("FAILED   no block is run: this shows nothing")
    return 1 if failures or not runnable else 0


if __name__ == "__main__":
    sys.exit(main())
