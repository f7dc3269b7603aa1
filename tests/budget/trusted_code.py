#!/usr/bin/env python3
"""Counts what runs as root and compares it with privd/BUDGET, and each process's system calls with
seccomp/BUDGET: growth fails until those files say so.

Usage: trusted_code.py [BIN]    BIN: folder with the built programs, default build/release/bin, where what is counted in
                                the programs is left out, and said so, if there are none
Counted of what runs as root, the gate (privd-gate), the binder (privd-binder) with its fork server, the daemon
(privd-daemon) and the iommufd process (privd-iommufd), and of the hardware process (privd-hardware), which is not root, for comparison: lines of ours that are linked
(linked_code.py), what plugind may ask, system calls in its tables, shared objects. Of gate and binder, whose containers have
them: mounts that they can write below, and kinds of files of sysfs.
docs/security/numbers.md counts with the same functions."""

import pathlib
import re
import subprocess
import sys

import linked_code

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOT_ROLES = ("gate", "binder", "daemon", "iommufd")
ROLES = {role: f"privd-{role}" for role in (*ROOT_ROLES, "hardware")}
TABLES = {"gate": ("gate",), "binder": ("binder", "fork_server"), "daemon": ("daemon",), "iommufd": ("iommufd",), "hardware": ("hardware",)}


def methods(schema: str = "ipc/schema/helper.capnp") -> int:
    return len(re.findall(r"^\s+\w+ @\d+ \(.*\) -> \(", (ROOT / schema).read_text(), re.MULTILINE))


def rules(header: str) -> str:
    """As x86-64 has them. Where ARM64's differ they are fewer, or as many."""
    return re.sub(r"^#else\n.*?^#endif\n", "", (ROOT / f"seccomp/{header}_rules.h").read_text(), flags=re.DOTALL | re.MULTILINE)


def table_text(process: str) -> str:
    """Of one table's source, with the rows, and the alternative calls of a row, that have a name in place of it."""
    table = rules(process)
    source = rules("shared") + table
    shared, calls = (dict(re.findall(rf"inline constexpr {kind} (k\w+)\{{(.*?)\}};", source, re.DOTALL)) for kind in ("Rule", "SystemCalls"))
    table = re.sub(r"^    (k\w+),$", lambda row: shared[row[1]], table, flags=re.MULTILINE)
    return re.sub(r"Rule\{(k\w+)(?=,)", lambda row: calls[row[1]], table)


def requests(header: str = "ipc/gate/gate_requests.h") -> int:
    """Of the gate's, or of another header's, each a kind of packet."""
    (kinds,) = re.findall(r"^using Request =\s+std::variant<([^>]+)>", (ROOT / header).read_text(), re.MULTILINE)
    return len(kinds.split(","))


def syscalls(role: str) -> int:
    tables = [table_text(process) for process in TABLES[role]]
    return len(set(re.findall(r"SCMP_SYS\((\w+)\)", "".join(tables))))


def calls_by_process() -> dict[str, int]:
    """Of each table of seccomp/, the names of calls that are carried out."""
    count = {}
    for process, _ in read_budget("seccomp/BUDGET").items():
        count[process] = len(set(re.findall(r"SCMP_SYS\((\w+)\),(?!\s*AnswerErrno)", table_text(process))))
    return count


def read_budget(path: str) -> dict[str, int]:
    """Name and number a line."""
    lines = [line.rsplit(maxsplit=1) for line in (ROOT / path).read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {name: int(number) for name, number in lines}


def wrong_listings(path: str = "privd/BUDGET") -> list[str]:
    """Each number of lines has rows above it, "#   LINES  CONCERN", that add up to it."""
    found, rows = [], []
    for line in (ROOT / path).read_text().splitlines():
        if row := re.match(r"# +(\d+)  \S", line):
            rows.append(int(row[1]))
        elif not line.startswith("#"):
            name, number = line.rsplit(maxsplit=1)
            if name.endswith(" lines") and sum(rows) != int(number):
                found.append(f"{name}: {number}, and its listing in {path} adds up to {sum(rows)}")
            rows = []
    return found


def shared_objects(program: pathlib.Path) -> int:
    """The sanitizers' own left out, and the loader, of which every program has one."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return len([line for line in listed.splitlines() if "=>" in line and not re.match(r"\s*lib(a|t|ub)san", line)])


def writable_sysfs() -> int:
    """Kinds of files of the host's sysfs that the AppArmor profile lets privd-binder write. tests/deploy holds that to the sources."""
    profile = (ROOT / "deploy/apparmor/vfiogate-binder").read_text()
    rules = re.findall(r"^  (?:@\{pci\}|/host/sys)(/\S+) r?w,$", profile, re.MULTILINE)
    return sum(len(braces[1].split(",")) if (braces := re.search(r"/\{([^}]*)\}$", rule)) else 1 for rule in rules)


def containers() -> dict[str, list[dict]]:
    """The mounts of each container of the pod, as deploy/kubernetes/base has it, without CDI; and of the one that binding adds."""
    import yaml  # not needed to count the rest

    text = (ROOT / "deploy/kubernetes/base/node-class/manifests.yaml").read_text()
    (pod,) = (document["spec"]["template"]["spec"] for document in yaml.safe_load_all(text)
              if document and document["kind"] == "DaemonSet")
    (change,) = yaml.safe_load((ROOT / "deploy/kubernetes/components/binding/kustomization.yaml").read_text())["patches"]
    added = [step["value"] for step in yaml.safe_load(change["patch"]) if "/containers/" in step["path"] and step["op"] == "add"]
    return {container["name"]: container["volumeMounts"] for container in pod["containers"] + added}


def writable_mounts(container: str = "privd-binder") -> int:
    return len([mount for mount in containers()[container] if not mount.get("readOnly")])


def counted_in(programs: pathlib.Path) -> dict[str, int]:
    found, lines = {}, {}
    for role, name in ROLES.items():
        lines[role] = linked_code.linked_lines(programs / name)
        found |= {f"{role} lines": len(lines[role]), f"{role} libraries": shared_objects(programs / name)}
    print(f"lines that gate and binder both have: {len(lines['gate'] & lines['binder'])}; "
          f"all that runs as root: {len(set.union(*(lines[role] for role in ROOT_ROLES)))}")
    return found


def main() -> int:
    programs = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin")
    found = {"gate requests": requests(), "binder requests": requests("ipc/binder/binder_packets.h"), "hardware methods": methods(),
             "binder sysfs": writable_sysfs()}
    found |= {f"{role} mounts": writable_mounts(ROLES[role]) for role in ("gate", "binder")}
    found |= {f"{role} syscalls": syscalls(role) for role in ROLES}
    if len(sys.argv) > 1 or all((programs / name).exists() for name in ROLES.values()):
        found |= counted_in(programs)
    else:
        print(f"not counted: lines and libraries, since {programs} has not {' and '.join(ROLES.values())}")
    budget = read_budget("privd/BUDGET")
    found |= {f"calls of {process}": count for process, count in calls_by_process().items()}
    budget |= {f"calls of {process}": count for process, count in read_budget("seccomp/BUDGET").items()}
    over = [n for n in found if found[n] > budget.get(n, 0)]
    for name, number in found.items():
        print(f"{name}: {number} of {budget.get(name, 0)}{'  OVER' if name in over else ''}")
    if over:
        print("The trusted code grew. If it must, raise privd/BUDGET, or seccomp/BUDGET, in the same commit and say why.")
    wrong = wrong_listings()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if over or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
