#!/usr/bin/env python3
"""Counts what runs as root and compares it with privd/BUDGET, and each process's system calls with
seccomp/BUDGET: growth fails until those files say so.

Usage: trusted_code.py [BIN]    BIN: folder with the built privd-daemon, default build/release/bin
Counted: lines of code (no blank lines, no comment lines) of privd without its command line, ipc and
seccomp; methods of the schema; calls in the tables of privd and of its fork server; shared objects of
the program; kinds of files of sysfs that it may write, and mounts of its container that it can write
below. docs/security/numbers.md counts with the same functions."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the other processes are held to, what they ask each other, and what commands print of a filter: the daemon includes
# none of it.
NEVER_IN_PRIVD = {"seccomp/plugind_rules.h", "seccomp/netd_metrics_rules.h", "ipc/schema/plugind.capnp",
                  "ipc/schema/dra.capnp", "seccomp/netd_dra_rules.h", "ipc/base/backoff.h",
                  "ipc/socket/limited_client.h", "seccomp/print_policy.h", "seccomp/print_policy.cc",
                  "seccomp/print_profile.h", "seccomp/print_profile.cc", "seccomp/startup_rules.h"}


def lines_below(folders: list[str], left_out: set[str] = frozenset()) -> int:
    """Of code and schemas in these folders. `left_out`: files, and folders with a slash at their end."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *folders],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    count = 0
    for path in listed:
        if not path.endswith((".h", ".cc", ".capnp", ".proto")) or path.startswith(tuple(n for n in left_out if n.endswith("/"))):
            continue
        if path in left_out or not (ROOT / path).exists():
            continue
        for line in (ROOT / path).read_text().splitlines():
            text = line.strip()
            if text and not text.startswith(("//", "#")):
                count += 1
    return count


def code_lines() -> int:
    return lines_below(["privd", "ipc", "seccomp"], NEVER_IN_PRIVD | {"privd/cli/", "ipc/api/"})


def methods(schema: str = "ipc/schema/helper.capnp") -> int:
    return len(re.findall(r"^\s+\w+ @\d+ \(.*\) -> \(", (ROOT / schema).read_text(), re.MULTILINE))


def table_text(process: str) -> str:
    """Of one table's source, with the rows that it shares with others in place of their names."""
    shared = dict(re.findall(r"inline constexpr Rule (k\w+)\{(.*?)\};", (ROOT / "seccomp/shared_rules.h").read_text(), re.DOTALL))
    table = (ROOT / f"seccomp/{process}_rules.h").read_text()
    return re.sub(r"^    (k\w+),$", lambda row: shared[row[1]], table, flags=re.MULTILINE)


def syscalls() -> int:
    tables = [table_text(process) for process in ("privd", "fork_server")]
    return len(set(re.findall(r"SCMP_SYS\((\w+)\)", "".join(tables))))


def calls_by_process() -> dict[str, int]:
    """Of each table of seccomp/, the names of calls that are carried out."""
    count = {}
    for process, _ in read_budget("seccomp/BUDGET").items():
        count[process] = len(set(re.findall(r"SCMP_SYS\((\w+)\),(?!\s*AnswerErrno)", table_text(process))))
    return count


def read_budget(path: str) -> dict[str, int]:
    """Name and number a line."""
    lines = [line.split() for line in (ROOT / path).read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {words[0]: int(words[1]) for words in lines}


def shared_objects(program: pathlib.Path) -> int:
    """The sanitizers' own left out, and the loader, of which every program has one."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return len([line for line in listed.splitlines() if "=>" in line and not re.match(r"\s*lib(a|t|ub)san", line)])


def writable_sysfs() -> int:
    """Kinds of files of the host's sysfs that the AppArmor profile lets privd write. tests/deploy holds that to the sources."""
    profile = (ROOT / "deploy/apparmor/vfiogate-privd").read_text()
    rules = re.findall(r"^  (?:@\{pci\}|/host/sys)(/\S+) r?w,$", profile, re.MULTILINE)
    return sum(len(braces[1].split(",")) if (braces := re.search(r"/\{([^}]*)\}$", rule)) else 1 for rule in rules)


def containers() -> dict[str, list[dict]]:
    """The mounts of each container of the pod, as deploy/kubernetes/base has it, with neither CDI nor binding."""
    import yaml  # not needed to count the rest

    text = (ROOT / "deploy/kubernetes/base/node-class/manifests.yaml").read_text()
    (pod,) = (document["spec"]["template"]["spec"] for document in yaml.safe_load_all(text)
              if document and document["kind"] == "DaemonSet")
    return {container["name"]: container["volumeMounts"] for container in pod["containers"]}


def writable_mounts(container: str = "privd") -> int:
    return len([mount for mount in containers()[container] if not mount.get("readOnly")])


def main() -> int:
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin") / "privd-daemon"
    found = {"lines": code_lines(), "methods": methods(), "syscalls": syscalls(), "sysfs": writable_sysfs(),
             "mounts": writable_mounts()}
    if program.exists():
        found["libraries"] = shared_objects(program)
    budget = read_budget("privd/BUDGET")
    found |= {f"calls of {process}": count for process, count in calls_by_process().items()}
    budget |= {f"calls of {process}": count for process, count in read_budget("seccomp/BUDGET").items()}
    over = [n for n in found if found[n] > budget.get(n, 0)]
    for name, number in found.items():
        print(f"{name}: {number} of {budget.get(name, 0)}{'  OVER' if name in over else ''}")
    if over:
        print("The trusted code grew. If it must, raise privd/BUDGET, or seccomp/BUDGET, in the same commit and say why.")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
