"""A node without vfiogate: simulated hardware, and the stand-in kubelet."""

import hashlib
import json
import os
import pathlib
import stat
import subprocess

from patience import await_that
from pod_sandbox import Sandbox


class SimulatedNode:
    """`root` stands for the node's own. Kernel events go to the network namespace of `listener`, of all the simulation's
    namespaces the only one; a kernel sends them to each."""

    def __init__(self, programs: pathlib.Path, topology: pathlib.Path, listener: Sandbox, place: pathlib.Path):
        self.programs, self.place, self.root = programs, place, place / "node"
        self.kubelet_directory = self.root / "var/lib/kubelet"
        for name in ("sys", "dev", "etc", "var/lib/kubelet", "var/run"):
            (self.root / name).mkdir(parents=True)
        (self.root / "etc/machine-id").write_text("a node\n")
        (place / "hardware").mkdir()
        command = ["mount", "--topology", topology, "--dir", place / "hardware", "--ctl", place / "hardware.ctl"]
        with (place / "node.log").open("wb") as log:
            said = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self.hardware = subprocess.Popen([*listener.enter(), programs / "sim-sysfs", *command], **said)
            await_that("the hardware is there", (place / "hardware/sys/bus").is_dir)
            for name in ("sys", "dev"):
                subprocess.run(["mount", "--bind", place / "hardware" / name, self.root / name], check=True)
            self.kubelet = subprocess.Popen([programs / "kubelet-sim", "run", "--dir", self.kubelet_directory], **said)
        await_that("the kubelet answers", lambda: self.ask_kubelet("get", "node").returncode == 0)

    def change_hardware(self, *words: str) -> str:
        command = [self.programs / "sim-sysfs", "ctl", self.place / "hardware.ctl", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def ask_kubelet(self, *words) -> subprocess.CompletedProcess:
        command = [self.programs / "kubelet-sim", "ctl", self.kubelet_directory, *words]
        return subprocess.run(command, capture_output=True, text=True)

    def allocatable(self) -> dict[str, int]:
        """What a scheduler counts with."""
        said = self.ask_kubelet("get", "node", "-o", "json").stdout
        return {name: int(count) for name, count in json.loads(said)["status"]["allocatable"].items()}

    def admit(self, resources: dict[str, str]) -> subprocess.CompletedProcess:
        """Pods, each of one container that asks for one device: name to resource."""
        pods = [
            {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"containers": [{"name": "compute", "resources": {"limits": {resource: 1}}}]},
            }
            for name, resource in resources.items()
        ]
        manifest = self.place / "pods.yaml"
        manifest.write_text("\n---\n".join(json.dumps(pod) for pod in pods))
        return self.ask_kubelet("admit", manifest)

    def files(self) -> dict[str, tuple]:
        """All that is there, with what would show that it was written: sockets, mode, owner, content, links."""
        found = {}
        for directory, names, others in os.walk(self.root):
            for name in names + others:
                path = pathlib.Path(directory, name)
                status = path.lstat()
                what = b""
                if stat.S_ISLNK(status.st_mode):
                    what = os.readlink(path).encode()
                elif stat.S_ISREG(status.st_mode):
                    what = self.content(path)
                found[str(path.relative_to(self.root))] = (status.st_mode, status.st_uid, hashlib.sha256(what).digest())
        return found

    @staticmethod
    def content(path: pathlib.Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:  # some of sysfs is for writing only
            return str(error.errno).encode()

    def close(self) -> None:
        for process in (self.kubelet, self.hardware):
            process.terminate()
            process.wait()
