#!/usr/bin/env python3
"""Prints a page of docs/security: `syscalls`, the tables of the filters and of Landlock as the programs print them; `numbers`, what each process
has, counted as tests/budget counts it. A test fails where the page differs."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import typing

TREE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "tests/budget"))
import linked_code  # noqa: E402
import trusted_code  # noqa: E402

# The last two are of a host: one starts the others, one is for KubeVirt's launchers.
ROLES = ("hardware", "gate", "binder", "daemon", "iommufd")
PROGRAMS = (*(f"privd-{role}" for role in ROLES), "plugind", "netd")
# Each with what makes it print its tables: privd's and netd's roles are processes of their own.
POLICIES = (*(("privd", "policy", role) for role in ROLES), ("plugind", "policy"), ("netd", "policy", "metrics"), ("netd", "policy", "dra"))

SYSCALLS = """# System calls, by process

Written by `docs/make_security.py syscalls` from what the programs print (`privd policy`, `plugind policy`, `netd policy`), which is the
table that they load. `OnePolicy` and `LoadedFilter` (tests/sandbox) hold them to one another: what a running process has loaded, what is
printed as text, JSON and profile, and this page. Any other call, any argument that is not allowed here, and any call of a foreign
architecture or of x32 kills the process, unless the action says otherwise. A row with several calls is one need that versions of a
library fulfil by different calls: who makes which stands there ([distributions](../distributions.md)). A **defensive** row is needed on a condition alone, which
stands there; no process may have more than 12. That each other row is needed, and no other call made, is a test for each table:
`EveryRow.OfEachOfPrivdsProcessesIsNeededOrDefensiveAndNoOther`, `EveryRow.OfPlugindIsNeededOrDefensiveAndNoOther`,
`Netd.NeedsEveryRowOfItsTableThatIsNotDefensiveAndNoOther` and `NetdDraTest.NeedsEveryRowOfItsTableThatIsNotDefensiveAndNoOther`. The
shipped program goes through a life with its filter taken out and each call compared with the table; the first call that uses a row must
be killed by the filter of the table without that row. `privd-iommufd`'s rows of a device that is there, `sendmsg` and `read`, are used in the machine test alone (`guest/iommufd_test.sh`).
The clock's rows are used in the machine test (`machine_clock_test`: two processors
and the hpet clock). [seccomp/BUDGET](../../seccomp/BUDGET) bounds the calls of each process.

Profiles for a container runtime, which hold before a program has its own filter: `-o oci`, [deploy/seccomp](../../deploy/seccomp/README.md).
"""

LANDLOCK = """
## Where files are opened

Where the kernel has Landlock, which `--require-landlock` asks for, each of privd's processes opens, makes and removes files in these places
alone. What is not said of a place is denied there, also below directories that it holds open; so is all that the kernel's version of Landlock knows beside:
programs, links, device nodes, ioctl on devices but where that is said, TCP, signals and abstract sockets of others. **for**: rows that are there only with the right
`cdi`, or with `--dra-driver`. **missing**: what is open instead where the place is not there when the process starts; "above" is the nearest directory
above it. A place is the directory that was there when it started: one that is made anew under the same name, as by `kubeadm reset`, and a
root complex that comes later are open once it is restarted; for directories of the kubelet, the DRA driver and CDI specs the gate ends by itself
(`directory_lost`). The binder's fork server, plugind and `netd metrics` open no file at all; `netd dra` reads in the directories of its token and the authority's
certificates, and dials the API server's port alone.
"""

NUMBERS = """# What each process has, in numbers

Written by `docs/make_security.py numbers`, with the functions that `tests/budget` counts with; a test fails where this page differs.
What gate and binder have, which run as root, and the daemon and the iommufd process, on a host alone, is bounded by [privd/BUDGET](../../privd/BUDGET): more of it fails a test until that file
says so, in the same commit.
"""

HOW = """
| row | counted how |
|---|---|
| system calls | names in the table that the program loads, those that are answered with an error left out: [syscalls.md](syscalls.md). Bounded by [seccomp/BUDGET](../../seccomp/BUDGET) |
| defensive | rows that are needed on a condition only |
| shared objects | what the loader maps beside the program and itself |
| lines | of our sources that are linked into the program, by its line information (`tests/budget/linked_code.py`): each function, and each class with a function in it, of which the linker kept code, without blank lines and comments. Tables without code, generated code and libraries are not counted |
| answers | methods and paths that somebody can call: the RPC schema; the device plugin's service and plugind's control service; HTTP |
| KiB of its own in memory | private pages, clean and dirty, after an Allocate: bounded by [privd/BUDGET](../../privd/BUDGET) and measured by `RootMemory`. Others: [performance.md](../performance.md) |
| kinds of files in sysfs | that privd-binder's AppArmor profile lets it write: `driver_override`, `bind`, `unbind`, `drivers_probe`, `sriov_numvfs` |
| writable mounts | of its container in `deploy/kubernetes/base`, without CDI, and in `components/binding`; not what a runtime adds below `/dev` |

{both:,} lines are in both programs that run as root, gate and binder, and counted for each, so that there are {all:,} to read in all. Where binding is off there are the gate's alone: {gate:,}.
"""

# Counted as linked_code.py counts: without blank lines and comments, what is linked whole or not at all.
ROOT_PROGRAMS = """
## Root programs of others, in lines

Small programs that run as root and are known for it, by the same rule (no blank line, comment or line for the preprocessor), on 2026-11-22.
Each is its own source alone, without what it links from its tree, which for ours is counted: those are the least that can be said of them.

| program | lines | what it does as root |
|---|---|---|
| OpenSSH's monitor, `monitor.c` | 1,535, and 104 that pass descriptors | logs users in for a child that speaks to the network |
| OpenNTPD's parent, `ntpd.c` | 742; 1,184 with `util`, `log` and `config` | sets the clock for children that do |
| nsjail | 5,998, the whole | starts programs in namespaces, under limits and filters |
"""

# Only what was read of them in source and manifests, at the revisions named. `KUBELET`: the five calls of the device plugin API, which
# each of them serves on a socket; `CLAIMS`: two for claims and two to register.
KUBELET, CLAIMS = "5", "4"
PEERS = (
    ("NVIDIA/kubevirt-gpu-device-plugin d26f2374", "1", "0", "none", "none", "all", KUBELET, "none", "none"),
    ("HiveNetCode/kubevirt-gpu-device-plugin b3e57516", "1", "0", "none", "none", "all", KUBELET, "none", "none"),
    ("kubevirt/kubernetes-device-plugins 2439489", "1", "0, `--privileged --cap-add=ALL`", "all", "none", "all", KUBELET, "none", "none"),
    ("KubeVirt virt-handler d923fdb", "1", "0, privileged, hostPID", "all", "for the launcher only", "all", f"{KUBELET} a resource, beside its own", "none", "none for this part"),
    ("sriov-network-device-plugin 40b6f50", "1", "0, privileged, hostNetwork", "all", "none", "all", f"{KUBELET} a resource, 2 to register", "none", "none"),
    ("harvester/pcidevices bdd8025", "1", "0, privileged", "all", "none", "all", f"{KUBELET} a resource, webhooks over HTTPS", "fields of a custom resource only", "none"),
    ("NVIDIA/sandbox-device-plugin edb816e", "1", "0, privileged under its operator", "all", "none", "all", KUBELET, "none", "none"),
    ("intel QAT plugin 94a91bc", "1", "0, not privileged", "none", "RuntimeDefault", "the runtime's list", KUBELET, "none", "none"),
    ("dra-driver-sriov cd9404f", "1", "0, privileged, hostNetwork, hostPID", "all", "none", "all", f"{CLAIMS}, health on port 51515", "none", "none"),
    ("dra-driver-nvidia-gpu 9593204", "2 containers", "0, privileged", "all", "none", "all", f"{CLAIMS}, health on ports 51515 and 51516, a webhook, metrics", "none", "none"),
    ("dra-example-driver 31914ce", "1", "0, privileged by default", "all", "none", "all", f"{CLAIMS}, health on port 51515, metrics on 8080", "none", "none"),
    ("kubevirt-dra-driver of 2024-06", "1", "0", "none", "RuntimeDefault", "the runtime's list", CLAIMS, "none", "none"),
    ("gpu-operator vfio-manager a22dbf6", "1", "0, privileged", "all", "none", "all", "0", "none", "none"),
    ("mrlhansen, KhooHaoYit vfio-device-plugin", "1", "0", "none", "none", "all", KUBELET, "none", "none"),
    ("JonkeyGuan vfio-device-plugin", "1", "0, privileged, hostNetwork", "all", "none", "all", KUBELET, "none", "none"),
    ("kata-vfio-pci-device-plugin", "1", "0, hostNetwork", "none", "none", "all", KUBELET, "none", "none"),
    ("squat/generic-device-plugin", "1", "0, privileged", "all", "none", "all", f"{KUBELET}, metrics on port 8080", "none", "none"),
    ("driverctl, dpdk-devbind.py", "while they run", "root of the host", "all", "none", "all", "0", "none", "none"),
)

PEERS_HEAD = """
## Others, in the same rows

What was read in the sources and manifests of others in 2026, as they come by default, at the revisions named. System calls: `all`
where no filter is loaded, by the program or by its runtime (a privileged container has none). Methods: what the kubelet's APIs have a
plugin serve, and what their manifests open to a network. All but the last are Go programs of one process, which link their modules into one file:
shared objects do not compare. None of these was counted in lines, so that row is missing rather than guessed.

| program | processes | runs as | capabilities | seccomp filter | system calls | methods | audit log | fuzzing |
|---|---|---|---|---|---|---|---|---|
"""


def our_row(found: list[dict]) -> tuple[str, ...]:
    return ("vfiogate", "4; with binding 5 and a fork server; with DRA one more", "0 without capabilities; 64531; 64532; 64533", "none", "one for each process",
            ", ".join(str(len(allowed(policy))) for policy in found), "above", "yes, chained", "`tests/fuzz`")


def tables_in(said: typing.Any) -> list[dict]:
    """The tables of what a program printed, those of the processes that it makes behind its own."""
    inner = said.values() if isinstance(said, dict) else said if isinstance(said, list) else []
    here = [said] if isinstance(said, dict) and "process" in said and "rows" in said else []
    return here + [table for part in inner for table in tables_in(part)]


def policies(programs: pathlib.Path) -> list[dict]:
    return [table for program, *words in POLICIES for table in tables_in(json.loads(subprocess.run(
        [programs / program, *words, "-o", "json"], check=True, capture_output=True, text=True).stdout))]


def calls_of(row: dict) -> list[dict]:
    """Those of one row: one, or alternatives."""
    return [row, *row["alternatives"]]


def allowed(policy: dict) -> set[str]:
    return {call["call"] for row in policy["rows"] if row["action"] == "allow" for call in calls_of(row)}


def defensive(policy: dict) -> int:
    return len([row for row in policy["rows"] if row["defensive"]])


def syscalls_page(found: list[dict]) -> str:
    text = SYSCALLS
    for policy in found:
        others = len(policy["rows"]) - len([row for row in policy["rows"] if row["action"] == "allow"])
        text += f"\n## {policy['process']}\n\n{len(allowed(policy))} calls, {defensive(policy)} rows defensive"
        text += f", {others} answered with an error.\n\n" if others else ".\n\n"
        text += "| call | arguments | action | why |\n|---|---|---|---|\n"
        for row in policy["rows"]:
            arguments = ", ".join(argument["text"] for argument in row["arguments"]).replace("|", "\\|") or "any"
            why = row["reason"] + (f"; **defensive**: {row['defensive']}" if row["defensive"] else "")
            names = " or ".join(f"`{call['call']}`" for call in calls_of(row))
            why += "".join(f"; `{call['call']}`: {call['madeBy']}" for call in calls_of(row) if call["madeBy"])
            text += f"| {names} | {arguments} | {row['action']} | {why} |\n"
    return text


def places(programs: pathlib.Path) -> dict[str, list[dict]]:
    """The tables of Landlock, by process."""
    said = {role: subprocess.run([programs / "privd", "policy", role, "-o", "json"], check=True, capture_output=True, text=True).stdout
            for role in (*ROLES[:3], "iommufd")}
    return {f"privd-{role}": json.loads(text)["landlock"]["places"] for role, text in said.items()}


def landlock_section(programs: pathlib.Path) -> str:
    text = LANDLOCK
    for process, table in places(programs).items():
        text += f"\n### {process}\n\n| place | rights | for | missing | why |\n|---|---|---|---|---|\n"
        text += "".join(f"| `{row['place']}` | {', '.join(row['rights'])} | {row['for']} | {row['missing']} | {row['reason']} |\n"
                        for row in table)
    return text


def services(name: str) -> int:
    proto = (TREE / "proto/deviceplugin.proto").read_text()
    return len(re.findall(r"^\s+rpc ", proto.partition(f"service {name} {{")[2].partition("\n}")[0], re.MULTILINE))


def services_of_dra() -> int:
    protos = [(TREE / f"proto/{name}.proto").read_text() for name in ("dra_v1", "dra_health_v1alpha1", "pluginregistration")]
    return sum(len(re.findall(r"^\s+rpc ", proto, re.MULTILINE)) for proto in protos)


def paths_of_netd() -> int:
    return len(set(re.findall(r'"(/(?:metrics|healthz|readyz))"', (TREE / "netd/metrics/pages.cc").read_text())))


def numbers_page(found: list[dict], programs: pathlib.Path) -> str:
    by_name = {policy["process"]: policy for policy in found}
    order = [by_name[name] for name in (*PROGRAMS[:3], "privd's fork server", "privd-daemon", "privd-iommufd", "plugind", "netd metrics", "netd dra")]
    count, objects = trusted_code, {name: trusted_code.shared_objects(programs / name) for name in PROGRAMS}
    lines = {name: linked_code.linked_lines(programs / name) for name in PROGRAMS}
    control, confined = count.methods("ipc/schema/plugind.capnp"), places(programs)
    budget = count.read_budget("privd/BUDGET")
    same = "the same program"

    def of_privd(say) -> list:
        return [say(name) for name in PROGRAMS[:3]]

    rows = [
        ("runs as", "uid 64531, no capability", "uid 0, no capability", "the same, where binding is on", "the same", "the same, on a host alone", "uid 0, CAP_SYS_RESOURCE, on a host where enabled", "uid 64532", "uid 64533", "uid 64533"),
        ("system calls", *(len(allowed(policy)) for policy in order)),
        ("of its rows defensive", *(defensive(policy) for policy in order)),
        ("shared objects", *of_privd(objects.get), same, objects["privd-daemon"], objects["privd-iommufd"], objects["plugind"], objects["netd"], same),
        ("lines", *of_privd(lambda name: len(lines[name])), same, len(lines["privd-daemon"]), len(lines["privd-iommufd"]), len(lines["plugind"]), len(lines["netd"]), same),
        ("answers", f"{count.methods()} of the RPC", f"{count.requests()} packets", f"{count.requests('ipc/binder/binder_packets.h')} packets", "2: a write, and a read", 0, "1: a connection",
         f"{services('DevicePlugin')} to the kubelet, {control} of its control service; to the kubelet for claims {services_of_dra()}",
         f"{paths_of_netd()} paths, to anybody", f"{count.methods('ipc/schema/dra.capnp')}, to plugind"),
        ("sockets of a network", 0, 0, 0, 0, 0, 0, 0, "one that listens, and who comes to it", "those that it dials"),
        ("can open a file once it runs", "to read, beneath held directories", "beneath held directories", "beneath held directories", "no", "no", "one device", "no", "no",
         "to read: its token, the authority's certificates"),
        ("files that Landlock leaves it to open, where the kernel has that", *of_privd(lambda name: f"below {len(confined[name])} places"), "none", "none", f"{len(confined['privd-iommufd'])}", "none",
         "none", "where its token and the certificates are"),
        ("kinds of files in sysfs it may write", 0, 0, count.writable_sysfs(), "what it is handed", 0, 0, 0, 0, 0),
        ("KiB of its own in memory, at most, with 256 devices", "not bounded", budget["gate memory"], budget["binder memory"], *["not bounded"] * 6),
        ("writable mounts", *of_privd(count.writable_mounts), "privd-binder's", "in no container", "in no container", f"{count.writable_mounts('plugind')}, at its start",
         count.writable_mounts("netd"), "0, with DRA"),
    ]
    text = NUMBERS + "\n| | privd-hardware | privd-gate | privd-binder | its fork server | privd-daemon | privd-iommufd | plugind | netd metrics | netd dra |\n|---|---|---|---|---|---|---|---|---|---|\n"
    text += "".join(f"| {' | '.join(str(cell) for cell in row)} |\n" for row in rows)
    root = lines["privd-gate"], lines["privd-binder"]
    text += HOW.format(both=len(set.intersection(*root)), all=len(set.union(*root)), gate=len(lines["privd-gate"]))
    text += ROOT_PROGRAMS.rstrip() + "\n" + "".join(
        f"| {name} | {len(lines[name]):,} | {what} |\n" for name, what in (
            ("privd-gate", "has the kubelet's sockets, CDI specs and the record of allocations for plugind"),
            ("privd-binder", "changes drivers, with guards, undo and an audit log"),
            ("privd-daemon", "starts the others on a host"),
            ("privd-iommufd", "hands launchers contexts of /dev/iommu, on a host where it is enabled")))
    return text + PEERS_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in (our_row(found), *PEERS))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("page", choices=("syscalls", "numbers"))
    arguments.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    wish = arguments.parse_args()
    found = policies(wish.programs)
    page = syscalls_page(found) + landlock_section(wish.programs) if wish.page == "syscalls" else numbers_page(found, wish.programs)
    print(page, end="")


if __name__ == "__main__":
    main()
