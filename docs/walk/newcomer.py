#!/usr/bin/env python3
"""README.md from the top on a fresh Debian, command for command, with the time of each.

Usage: newcomer.py [--keep DIR]

Makes a minimal Debian of this machine's release with mmdebstrap and this machine's own package sources, clones the
committed state into it, and runs there each command of README.md's shell blocks in their order, as root. What needs a
cluster, or is a whole test run, is left out and named. Prints a table of seconds; exit 1 if a command fails. Needs root.
--keep DIR: leaves the machine there, with the output of each command below DIR/walk."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/docs"))
import blocks  # noqa: E402

# What stands in a block of README.md and is no step of this walk, by how it begins, and why.
LEFT_OUT = {"kubectl": "needs a cluster", "tests/run.sh": "the whole test run", "deploy/try.sh --vm": "a second machine"}
RELEASE = "bookworm"


class Step(typing.NamedTuple):
    command: str
    seconds: float
    failed: bool


def commands() -> list[str]:
    """Each command of README.md's shell blocks, in order, once."""
    found: list[str] = []
    for block in blocks.blocks_of("README.md", (ROOT / "README.md").read_text()):
        if not block.info.startswith("sh"):
            continue
        for line in block.text.splitlines():
            command = re.sub(r"\s+#.*$", "", line).strip()
            if command and command not in found:
                found.append(command)
    return found


def why_left_out(command: str) -> str:
    return next((why for begin, why in LEFT_OUT.items() if command.startswith(begin)), "")


def make_machine(root: pathlib.Path) -> None:
    sources = [str(path) for path in sorted(pathlib.Path("/etc/apt").glob("sources.list*")) if path.is_file()]
    sources += [str(path) for path in sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*")) if path.is_file()]
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--include=git,ca-certificates", RELEASE, str(root), *sources],
        check=True)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", f"file://{ROOT}", str(root / "root/vfiogate")], check=True)


def run_inside(root: pathlib.Path, command: str, log: pathlib.Path) -> Step:
    """In namespaces of its own, with the devices of this machine and a network."""
    setup = 'mount --bind "$0" "$0" && mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && ' \
            'mount -t tmpfs tmpfs "$0/tmp" && exec chroot "$0" /bin/bash -c "cd /root/vfiogate && $1"'
    began = time.monotonic()
    with log.open("wb") as out:
        # No terminal: what would stay up on one ends by itself.
        ended = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", setup, str(root), command],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
            env={"PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8"})
    return Step(command, time.monotonic() - began, ended.returncode != 0)


def walk(root: pathlib.Path) -> bool:
    make_machine(root)
    (root / "walk").mkdir()
    print("| command | seconds |\n|---|---|")
    total, fine = 0.0, True
    for number, command in enumerate(commands()):
        if why := why_left_out(command):
            print(f"| `{command}` | left out: {why} |", flush=True)
            continue
        log = root / f"walk/{number}.log"
        step = run_inside(root, command, log)
        total += step.seconds
        print(f"| `{command}` | {step.seconds:.1f}{' FAILED' if step.failed else ''} |", flush=True)
        if step.failed:
            fine = False
            print(log.read_text(errors="replace")[-3000:], file=sys.stderr)
    print(f"| all | {total:.0f} |")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="DIR", type=pathlib.Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("newcomer.py: not root: it makes a Debian and runs commands as its root", file=sys.stderr)
        return 2
    if options.keep:
        options.keep.mkdir(parents=True)
        return 0 if walk(options.keep.resolve()) else 1
    with tempfile.TemporaryDirectory(prefix="vfiogate-newcomer-") as directory:
        return 0 if walk(pathlib.Path(directory)) else 1


if __name__ == "__main__":
    sys.exit(main())
