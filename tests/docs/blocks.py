"""Shell blocks of pages, in their order: how each is marked, what it is said to show, running one in a copy of the tree.

```sh run           run by docs_test; one that is not on the simulated node on a real one, too, if its page is among ON_A_CLUSTER
```sh cluster       run on a real node by tests/cluster, in the page's order with those
```sh norun: WHY    run nowhere
```text shown       its lines were all said by the block before it; behind a `cluster` and a block on the simulated node, by both
"""

import os
import pathlib
import re
import shutil
import subprocess
import time
import typing

TREE = pathlib.Path(__file__).resolve().parents[2]
ON_A_CLUSTER = ("docs/install.md",)  # tests/cluster/page_cases.py has a case for each
FENCE = re.compile(r"^```(?P<info>.*)$")
SHELLS = ("sh", "bash", "shell", "console")
PATIENCE = 240  # seconds for one block
NODE = "docs/walk/node.sh"
PASSING = ((r"(\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\dZ?", "TIME"), (r"ref=[0-9a-f]{4}", "ref=REF"), (r"\d+ s ago", "N s ago"), (r"\s+", " "))


class Block(typing.NamedTuple):
    file: str
    line: int
    info: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


Shows = tuple[Block, Block | None]  # a block to run, and what it is said to show


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
    if mark == "cluster" and block.file not in ON_A_CLUSTER:
        return "no case of tests/cluster runs this page"
    if mark in ("run", "cluster") or re.fullmatch(r"norun: \S.{3,}", mark):
        return None
    return f"'{block.info}' is neither 'sh run' nor 'sh cluster' nor 'sh norun: REASON'"


def is_shown(block: Block | None) -> bool:
    return block is not None and block.info.endswith(" shown")


def is_simulated(block: Block | None) -> bool:
    return block is not None and block.info == "sh run" and NODE in block.text


def shown_by(block: Block, after: list[Block]) -> Block | None:
    """`after`: the page's blocks behind it."""
    if block.info == "sh cluster" and len(after) > 1 and is_simulated(after[0]):
        after = after[1:]
    return after[0] if after and is_shown(after[0]) and after[0].file == block.file else None


def runnable_of(blocks: list[Block]) -> list[Shows]:
    """Those that docs_test runs."""
    return [(block, shown_by(block, blocks[at + 1:])) for at, block in enumerate(blocks) if block.info == "sh run"]


def on_a_cluster(blocks: list[Block]) -> list[Shows]:
    """Those of a page that are run on a real node."""
    return [(block, shown_by(block, blocks[at + 1:])) for at, block in enumerate(blocks)
            if block.info == "sh cluster" or (block.info == "sh run" and not is_simulated(block))]


def listed_files() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TREE, check=True,
                             capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name and (TREE / name).exists()]


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


def run(block: Block, tree: pathlib.Path, shown: Block | None = None, environment: dict[str, str] | None = None, settles: float = 0) -> str | None:
    """None: it ended with 0, and said what is shown. Else what it said. `settles`: seconds for which its last command, which looks at something
    that others bring about, is run again until all is said."""
    def said_by(commands: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=tree, env=(environment or os.environ) | {"TZ": "UTC"}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)

    try:
        done = said_by(block.text)
        said, until = done.stdout, time.monotonic() + settles
        while done.returncode == 0 and shown and untold(shown.text, said) and time.monotonic() < until:
            done = said_by(block.text.splitlines()[-1])
            said += done.stdout
    except subprocess.TimeoutExpired:
        return f"did not end within {PATIENCE} s"
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{said[-3000:]}"
    missing = untold(shown.text, said) if shown else []
    return "\n".join([f"{shown.where} shows what it did not say:", *missing, "It said:", said[-3000:]]) if missing else None
