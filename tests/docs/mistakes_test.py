#!/usr/bin/env python3
"""What the programs answer to typical mistakes, word for word: mistakes.txt has one row a mistake, each with the line that is typed,
the exit code and the answer. The programs are the built ones, on a small tree of files that stands for sysfs; --print writes the
table as it is now."""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "mistakes.txt"
PROGRAMS = ("privd", "privd-daemon", "privd-hardware", "privd-gate", "privd-binder", "privd-iommufd", "plugind", "netd")
FEWEST = 40
NOBODY = 65534
CARD = {"modalias": "pci:v000010DEd00002684sv00000000sd00000000bc03sc00i00", "enable": "0", "numa_node": "0"}

INTO_CLOSED_PIPE = """#!/usr/bin/env python3
import os, signal, subprocess, sys
read, write = os.pipe()
os.close(read)
code = subprocess.run(sys.argv[1:], stdout=write).returncode
print("ended by " + signal.Signals(-code).name if code < 0 else f"exit {code}")
"""


class Row(typing.NamedTuple):
    mistake: str
    typed: str
    code: int
    answer: str


def rows_of(text: str) -> list[Row]:
    rows = []
    for block in re.split(r"\n{2,}(?=# )", text.strip()):
        mistake, typed, code, *answer = block.splitlines()
        rows.append(Row(mistake.removeprefix("# "), typed, int(code.removeprefix("exit ")), "\n".join(answer)))
    return rows


def text_of(rows: list[Row]) -> str:
    return "\n\n".join("\n".join([f"# {row.mistake}", row.typed, f"exit {row.code}", row.answer]).rstrip() for row in rows) + "\n"


def put(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_hardware(root: pathlib.Path) -> None:
    """A card with two functions in slot 4, a NIC, and the loopback interface."""
    devices = root / "sys/devices/pci0000:00"
    for address in ("0000:65:00.0", "0000:65:00.1", "0000:03:00.0"):
        for name, text in CARD.items():
            put(devices / address / name, text + "\n")
        (devices / address / "config").write_bytes(bytes(64))
        link = root / "sys/bus/pci/devices" / address
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../../devices/pci0000:00/{address}")
    put(root / "sys/bus/pci/slots/4/address", "0000:65:00\n")
    for name, place in (("enp3s0", "pci0000:00/0000:03:00.0/net/enp3s0"), ("lo", "virtual/net/lo")):
        link = root / "sys/class/net" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../devices/{place}")
    (root / "dev").mkdir()
    grouped = root / "sys/kernel/iommu_groups/7/devices/0000:03:00.0"
    grouped.parent.mkdir(parents=True)
    grouped.symlink_to("../../../../devices/pci0000:00/0000:03:00.0")
    (devices / "0000:03:00.0/iommu_group").symlink_to("../../../kernel/iommu_groups/7")


def make_files(root: pathlib.Path) -> None:
    put(root / "tab.yaml", "resources:\n\t- select: {vendor: \"10de\"}\n")
    put(root / "number.yaml", "resources:\n  - select: {vendor: 10de, numa: zero}\n")
    put(root / "serial.yaml", "resources:\n  - select: {serial: \" MT1\"}\n")
    put(root / "unknown.yaml", "resources:\n  - select: {vendor: \"10de\"}\nreconcil: 5s\n")
    put(root / "missing.yaml", "resources:\n  - select: {vendor: }\n")
    put(root / "duration.yaml", "grace: 5\nresources:\n  - select: {vendor: \"10de\"}\n")
    put(
        root / "sets.yaml",
        "resources:\n- name: vfiogate.dev/pair\n  sets:\n"
        '  - {name: left, devices: ["0000:11:00.0", "0000:21:00.0"]}\n'
        '  - {name: right, devices: ["0000:21:00.0", "0000:31:00.0"]}\n',
    )
    put(
        root / "more.yaml",
        "resources:\n- name: vfiogate.dev/part\n  more: {name: vfiogate.dev/part_more}\n  sets:\n"
        '  - {name: half, devices: ["0000:11:00.0", "0000:21:00.0"]}\n'
        '  - {name: whole, devices: ["0000:31:00.0", "0000:41:00.0", "0000:51:00.0", "0000:61:00.0"]}\n',
    )
    put(root / "table.txt", "Partition ID   Number of GPUs   GPU Module ID\n")
    put(root / "options.conf", "# mine\n--allow vendor=10de\n")
    put(root / "typing.conf", "alow vendor=10de\n")
    put(root / "range.conf", "# mine\n\nrescan 0\n")
    put(root / "locked/plugind.sock", "")
    (root / "locked").chmod(0o700)
    put(root / "plain.sock", "")
    (root / "plain.sock").chmod(0o666)


class Scene:
    """Where the lines are typed."""

    def __init__(self, root: pathlib.Path, programs: pathlib.Path) -> None:
        self.root = root
        root.chmod(0o755)
        make_hardware(root)
        make_files(root)
        (root / "bin").mkdir()
        for name in PROGRAMS:
            shutil.copy2(programs / name, root / "bin" / name)
        put(root / "bin/into-closed-pipe", INTO_CLOSED_PIPE)
        (root / "bin/into-closed-pipe").chmod(0o755)
        self.environment = {"PATH": f"{root / 'bin'}:/usr/bin:/bin", "HOME": str(root), "LC_ALL": "C", "TZ": "UTC"}

    def answer_to(self, typed: str) -> tuple[int, str]:
        as_nobody = typed.startswith("nobody$ ")
        line = typed.partition("$ ")[2]
        become = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_nobody and os.geteuid() == 0 else {}
        done = subprocess.run(["bash", "-c", line], cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, **become)
        said = done.stdout.replace(str(self.root), "DIR")
        said = re.sub(r"privd-dry-run-\w+", "privd-dry-run-XXXXXX", said)
        return done.returncode, "\n".join(part.rstrip() for part in said.rstrip("\n").splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin", metavar="DIR")
    parser.add_argument("--print", action="store_true", help="the table with what is answered now")
    wish = parser.parse_args()
    rows = rows_of(TABLE.read_text())
    now = []
    with tempfile.TemporaryDirectory() as place:
        scene = Scene(pathlib.Path(place), wish.programs.resolve())
        for row in rows:
            now.append(Row(row.mistake, row.typed, *scene.answer_to(row.typed)))
    if wish.print:
        print(text_of(now), end="")
        return 0
    wrong = [row.mistake for row, answered in zip(rows, now) if row != answered]
    sys.stdout.writelines(difflib.unified_diff(text_of(rows).splitlines(True), text_of(now).splitlines(True), "mistakes.txt", "now"))
    print(f"{len(rows)} mistakes, {len(wrong)} answered otherwise than the table says")
    if len(rows) < FEWEST:
        print(f"the table has fewer than {FEWEST}")
    return 1 if wrong or len(rows) < FEWEST else 0


if __name__ == "__main__":
    sys.exit(main())
