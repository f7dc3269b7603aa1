#!/usr/bin/env python3
"""Counts what runs as root and compares it with privd/BUDGET: growth fails until that file says so.

Usage: trusted_code.py [BIN]    BIN: folder with the built privd, default build/release/bin
Counted: lines of code (no blank lines, no comment lines) of privd without its command line, ipc and
seccomp; methods of the schema; calls in the tables of privd and
of its fork server; shared objects of the program."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the other processes are held to, and what they ask each other: privd includes none of it.
NEVER_IN_PRIVD = {"seccomp/plugind_rules.h", "seccomp/netd_metrics_rules.h", "ipc/schema/plugind.capnp",
                 "ipc/schema/dra.capnp", "seccomp/netd_dra_rules.h"}


def code_lines() -> int:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "privd", "ipc", "seccomp"],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    count = 0
    for path in listed:
        if not path.endswith((".h", ".cc", ".capnp")) or path.startswith("privd/cli/"):
            continue
        if path in NEVER_IN_PRIVD or not (ROOT / path).exists():
            continue
        for line in (ROOT / path).read_text().splitlines():
            text = line.strip()
            if text and not text.startswith(("//", "#")):
                count += 1
    return count


def methods() -> int:
    schema = (ROOT / "ipc/schema/helper.capnp").read_text()
    return len(re.findall(r"^\s+\w+ @\d+ \(.*\) -> \(", schema, re.MULTILINE))


def syscalls() -> int:
    tables = [(ROOT / "seccomp" / name).read_text() for name in ("privd_rules.h", "fork_server_rules.h")]
    return len(set(re.findall(r"SCMP_SYS\((\w+)\)", "".join(tables))))


def shared_objects(program: pathlib.Path) -> int:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return len([line for line in listed.splitlines() if "=>" in line])


def main() -> int:
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin") / "privd"
    found = {"lines": code_lines(), "methods": methods(), "syscalls": syscalls()}
    if program.exists():
        found["libraries"] = shared_objects(program)
    budget = {}
    for line in (ROOT / "privd/BUDGET").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, number = line.split()[:2]
            budget[name] = int(number)
    over = [n for n in found if found[n] > budget.get(n, 0)]
    for name, number in found.items():
        print(f"{name}: {number} of {budget.get(name, 0)}{'  OVER' if name in over else ''}")
    if over:
        print("The trusted code grew. If it must, raise privd/BUDGET in the same commit and say why.")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
