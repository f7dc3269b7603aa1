"""Simulated hardware beside the node: sim-sysfs, with its kernel events in the node's network namespace."""

import json
import pathlib
import signal
import subprocess

from waiting import wait_for

TREE = pathlib.Path(__file__).resolve().parents[2]


class Hardware:
    """`sys` and `dev` stand for the host's; `open` and `close` are what a virtual machine does, as /dev/vfio/N of the node is
    like /dev/null."""

    def __init__(self, programs: pathlib.Path, topology: pathlib.Path, place: pathlib.Path):
        place.mkdir(parents=True)
        self.program, self.place = programs / "sim-sysfs", place
        self.sys, self.dev = place / "hardware/sys", place / "hardware/dev"
        (place / "hardware").mkdir()
        command = [self.program, "mount", "--topology", topology, "--dir", place / "hardware", "--ctl", place / "hardware.ctl"]
        with (place / "hardware.log").open("wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("the hardware is there", (self.sys / "bus").is_dir, seconds=20)

    def order(self, *words) -> str:
        """Raises CalledProcessError where it cannot be done."""
        command = [self.program, "ctl", self.place / "hardware.ctl", *(str(word) for word in words)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout

    def open(self, address: str) -> None:
        self.order("open", address)

    def close(self, address: str) -> None:
        self.order("close", address)

    def remove(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=20)


def topology_of(file: pathlib.Path, drivers: list[dict], devices: list[dict]) -> pathlib.Path:
    file.write_text(json.dumps({"drivers": drivers, "devices": devices}))
    return file


def topology(name: str) -> pathlib.Path:
    return TREE / "tests/topologies" / f"{name}.yaml"
