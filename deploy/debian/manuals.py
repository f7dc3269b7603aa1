#!/usr/bin/env python3
"""Manual pages of the programs and their subcommands: options from their own --help, and EXAMPLES, EXIT STATUS, FILES and SEE
ALSO from the tables here and the table of exit codes that --help has. Run by itself it writes them all into a directory."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import program_help

TREE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("privd", "privd-hardware", "privd-gate", "privd-binder", "privd-iommufd", "plugind", "netd")

EXAMPLES = {
    "privd": (("What this machine has, and what stands in the way", "privd list"),
              ("Give a card, with its whole IOMMU group, to VFIO, and keep it there over reboots", "privd bind 65:00.0 --keep")),
    "privd list": (("Only what can be passed through now", "privd list --state passable"),
                   ("Addresses of all cards of one model", "privd list --select 10de:2684 -o json | jq -r '.devices[].address'")),
    "privd show": (("The card behind a network interface", "privd show enp3s0f0"),),
    "privd bind": (("What would be written, and what speaks against it; needs no root", "privd bind 65:00.0 --dry-run"),
                   ("By libvirt's name, to a driver of its own", "privd bind pci_0000_65_00_0 --driver nvgrace_gpu_vfio_pci")),
    "privd unbind": (("Give it back to the driver that it had", "privd unbind 65:00.0"),),
    "privd hold": (("Keep a card out of allocation", 'privd hold 65:00.0 --reason "fan is loud, swap on Monday"'),),
    "privd release": (("Let it be allocated again", "privd release 65:00.0"),),
    "privd forget": (("What bind --keep declared is not bound at the next boot", "privd forget 65:00.0"),),
    "privd watch": (("One JSON object a change", "privd watch -o json"),),
    "privd doctor": (("In a script", "privd doctor -o json | jq '.findings[].id'"),),
    "privd audit": (("Whether the log is whole", "privd audit verify"), ("What was done to a card today", "privd audit show --since 1d --device 65:00.0")),
    "privd top": (("On a terminal; q ends it", "privd top"), ("Once, for a script", "privd top --once")),
    "privd holds": (("What is excluded and what is declared, for programs", "privd holds -o json"),),
    "privd policy": (("Whether the daemon can live under its filters here", "privd policy --self-test"),),
    "privd serve": (("As the package's unit starts it", "privd serve --options /etc/vfiogate/privd.conf"),),
    "privd audit show": (("The last two hours, for programs", "privd audit show --since 2h -o json"),),
    "privd audit head": (("Keep it elsewhere, to compare with later", "privd audit head"),),
    "privd audit verify": (("Against a head that was kept elsewhere", "privd audit verify --anchor SEQ:HASH"),),
    "plugind": (("Check a configuration", "plugind --check-config --config /etc/vfiogate/plugind.yaml"),),
    "plugind status": (("Who has what", "plugind status"), ("For programs", "plugind status -o yaml")),
    "plugind explain": (("Why a card is not offered", "plugind explain 65:00.0"),),
    "plugind probe": (("As the pod's readiness probe asks", "plugind probe"),),
    "plugind policy": (("A profile for the container's runtime", "plugind policy -o oci"),),
    "plugind fragment": (("What KubeVirt has to permit", "plugind fragment kubevirt"),),
    "netd": (("Metrics, on this machine alone", "netd metrics --listen 127.0.0.1:9408"),),
    "netd dra": (("On a node whose name is not in the environment", "netd dra --node worker-1"),),
    "netd policy": (("A profile for the container's runtime", "netd policy -o oci"),),
    "netd metrics": (("On all addresses", "netd metrics --listen '[::]:9408'"),),
}
OPTIONS = ("/etc/vfiogate/privd.conf", "options, one a line; each process and each command takes those that are its own")
RECORD = ("/run/vfiogate/devices", "which devices are allocated")
LOG = ("/var/log/vfiogate/audit.jsonl", "the audit log: every change of a driver before it is made")
PLUGIND = ("/run/vfiogate/plugind/plugind.sock", "the socket on which plugind listens, unless --plugind names another")
FILES = {
    "privd": (OPTIONS, ("/var/lib/vfiogate", "what survives restarts: former drivers, exclusions, declarations"), RECORD, LOG,
              ("/usr/share/misc/pci.ids", "names of devices")),
    "privd-hardware": (OPTIONS, ("/sys, /dev", "read, never written"), PLUGIND),
    "privd-gate": (OPTIONS, ("/var/lib/vfiogate/gate.lock", "whose it is, that gate serves the node"),
                   ("/var/lib/vfiogate/holds", "operators' exclusions"), RECORD,
                   ("/var/lib/kubelet/device-plugins", "the kubelet's socket and checkpoint, and our sockets"),
                   ("/var/run/cdi", "CDI specs"), PLUGIND),
    "privd-binder": (OPTIONS, ("/var/lib/vfiogate/lock", "whose it is, that binder serves the node"),
                     ("/var/lib/vfiogate", "former drivers, exclusions, declarations"), RECORD, LOG, PLUGIND),
    "privd-iommufd": (OPTIONS, ("/dev/iommu", "opened for each launcher"),
                      ("/run/vfiogate/iommufd/iommufd.sock", "the socket, unless --socket names another; beside it iommufd.sock.lock, whose it is")),
    "plugind": (("/run/vfiogate/plugind/plugind.sock", "the socket on which plugind listens, unless --listen names another"),
                ("/usr/share/misc/pci.ids", "names of devices")),
    "kubelet-sim": (("DIR/device-plugins, DIR/pod-resources", "below the directory of --dir: the sockets and the checkpoint of a kubelet"),),
    "sim-sysfs": (("/dev/fuse", "by which the file system is shown"), ("DIR/sys, DIR/dev", "below the directory of --dir: what is shown")),
    "sim-node": (("/dev/fuse", "by which the hardware is shown"),),
    "netd": (("/var/run/secrets/kubernetes.io/serviceaccount", "token and certificates of a pod, for netd dra"),),
}


def roman(text: str) -> str:
    """As it stands, for roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)


def exit_status(program: pathlib.Path) -> list[tuple[str, str]]:
    entries = program_help.section(program_help.help_text(program), "Exit status")
    return [tuple(entry.strip().split(maxsplit=1)) for entry in entries]


def listed(entries) -> str:
    return "".join(f".TP\n{roman(name)}\n{roman(says)}\n" for name, says in entries)


def see_also(program: str, names: list[str], own: str) -> str:
    others = [name for name in [program, *names] if name != own] + [name for name in PROGRAMS if name != program]
    return "".join(f".BR {roman(name)} (1){',' if name != others[-1] else ''}\n" for name in others)


def extra(program: pathlib.Path, command: str, names: list[str]) -> str:
    """What help2man includes behind the options."""
    key = f"{program.name} {command}".strip()
    examples = "".join(f"{roman(says)}:\n.PP\n.nf\n    {roman(typed)}\n.fi\n.PP\n" for says, typed in EXAMPLES.get(key, ()))
    text = f"[EXAMPLES]\n{examples}\n" if examples else ""
    text += f"[EXIT STATUS]\n{listed(exit_status(program))}\n"
    text += f"[FILES]\n{listed(FILES[program.name])}\n"
    return text + f"[SEE ALSO]\n{see_also(program.name, names, '-'.join(key.split()))}"


def page(program: pathlib.Path, version: str, command: str, says: str, names: list[str]) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".h2m") as include:
        include.write(extra(program, command, names))
        include.flush()
        words = " ".join([str(program), command]).strip()
        made = subprocess.run(["help2man", "--no-info", "--section=1", "--manual=vfiogate", f"--source=vfiogate {version}",
                               f"--name={says}", f"--version-string={words.split('/')[-1]} {version}", f"--include={include.name}", words],
                              check=True, capture_output=True, text=True).stdout
    # help2man knows the program only.
    title = "-".join([program.name, *command.split()]).upper()
    made = re.sub(r"^\.TH \S+", f".TH {title}", made, count=1, flags=re.MULTILINE)
    # The table is a section of its own.
    made = re.sub(r'\.SS "Exit status:"\n(?:(?!\.S[SH] ).*\n)*', "", made)
    # Lines of choices cannot be broken at bars.
    made = re.sub(r"(?<=[a-z])\|(?=[a-z])", ", ", made)
    return made.replace(str(program), program.name)


def pages(program: pathlib.Path, version: str) -> dict[str, str]:
    """Each page by its name, "privd-audit-show"."""
    commands = program_help.commands_of(program)
    names = ["-".join([program.name, *each.name.split()]) for each in commands]
    says = program_help.help_text(program).splitlines()[0].rstrip(".")
    made = {program.name: page(program, version, "", says, names)}
    for command, name in zip(commands, names):
        made[name] = page(program, version, command.name, command.says, names)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("names", nargs="*", default=PROGRAMS, metavar="PROGRAM", help="default: all that are not simulators")
    wish = parser.parse_args()
    wish.out.mkdir(parents=True, exist_ok=True)
    # The simulators have no version of their own.
    version = program_help.version_of((wish.programs / PROGRAMS[0]).resolve())
    for name in wish.names:
        program = (wish.programs / name).resolve()
        for title, text in pages(program, version).items():
            (wish.out / f"{title}.1").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
