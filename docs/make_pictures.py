#!/usr/bin/env python3
"""Prints a picture of docs/pictures. topology: as the built programs draw it of docs/pictures/machine.yaml, a simulated machine on which
one pod has a GPU and another a virtual function; as root, with /dev/fuse. processes: of the table in process_picture.py. growth: of the
counts in docs/pictures/growth.tsv."""

import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import time

import growth_picture
import process_picture

HERE = pathlib.Path(__file__).resolve().parent
PICTURES = HERE / "pictures"
PATIENCE_S = 20

# Who has what; the members of a group have the same text.
ALLOCATED = (
    (("0000:03:00.0", "0000:03:00.1"), "vfiogate.dev/gpu", "pod=tenant-a/virt-launcher-render"),
    (("0000:05:01.0",), "vfiogate.dev/nic", "pod=tenant-b/router"),
)
OPEN = ("0000:03:00.0", "0000:04:00.0")


def record(directory: pathlib.Path) -> None:
    """The record of allocations, in the form of privd/state/allocation_text.h."""
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for members, resource, who in ALLOCATED:
        text = (f"format=2\nboot={boot}\nmembers={' '.join(members)}\n\nresource={resource} ids={members[0]} ref=7f3a "
                f"since=2026-11-23T10:42:07Z {who}")
        text += f"\nsha256={hashlib.sha256(text.encode()).hexdigest()}\n"
        for member in members:
            (directory / member).write_text(text)


def draw(programs: pathlib.Path) -> str:
    with tempfile.TemporaryDirectory(prefix="vg-") as name:
        scratch = pathlib.Path(name)
        node, held = scratch / "node", scratch / "held"
        node.mkdir()
        held.mkdir()
        record(held)
        hardware = subprocess.Popen([programs / "sim-sysfs", "mount", "--topology", PICTURES / "machine.yaml", "--dir", node,
                                     "--uevents", "off"], stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + PATIENCE_S
            while not (node / "sys/bus/pci/devices").exists():
                if hardware.poll() is not None or time.monotonic() > end:
                    sys.exit("make_pictures.py: sim-sysfs did not come up: is this root, and is there a /dev/fuse?")
                time.sleep(0.05)
            orders = [("vfs", "0000:05:00.0", "2")]
            orders += [("bind", f"0000:05:01.{function}", "vfio-pci") for function in (0, 1)]
            orders += [("open", address) for address in OPEN]
            for order in orders:
                subprocess.run([programs / "sim-sysfs", "ctl", f"{node}.ctl", *order], check=True, stdout=subprocess.DEVNULL)
            return subprocess.run([programs / "privd", "list", "-o", "svg", "--sysfs", node / "sys", "--dev", node / "dev",
                                   "--pci-ids", PICTURES / "pci.ids", "--record-dir", held],
                                  check=True, capture_output=True, text=True, env={"TZ": "UTC"}).stdout
        finally:
            hardware.terminate()
            hardware.wait()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("picture", choices=("topology", "processes", "growth"))
    options.add_argument("--programs", type=pathlib.Path, default=HERE.parent / "build/release/bin", metavar="DIR",
                         help="where the built programs are")
    wish = options.parse_args()
    makers = {"topology": lambda: draw(wish.programs), "processes": process_picture.draw, "growth": growth_picture.draw}
    sys.stdout.write(makers[wish.picture]())


if __name__ == "__main__":
    main()
