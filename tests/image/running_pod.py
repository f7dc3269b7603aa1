"""A pod that runs: what kubelet and runtime do for it, as far as that goes without either."""

import base64
import http.client
import pathlib
import signal
import subprocess
import time

from pod_manifest import Container, ManifestError, Pod, Probe
from pod_sandbox import Sandbox
from pod_seccomp import SeccompProfiles
from pod_volumes import Volumes
from running_container import RunningContainer, run_to_its_end
from unpacked_image import UnpackedImage

# What a kubelet tells every container of the API server, whatever the pod says.
ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


class RunningPod:
    def __init__(
        self, pod: Pod, volumes: Volumes, image: UnpackedImage, profiles: SeccompProfiles, sandbox: Sandbox, place: pathlib.Path
    ):
        self.pod, self.volumes, self.image, self.sandbox, self.place = pod, volumes, image, sandbox, place
        self.profiles = profiles
        self.starts = 0
        (place / "shm").mkdir()
        files = {"hosts": f"{sandbox.address} {sandbox.name}\n", "hostname": f"{sandbox.name}\n", "resolv.conf": ""}
        for name, text in files.items():
            (place / name).write_text(text)
        for container in pod.before:
            self.run_before(container)
        self.running = {name: self.start(container) for name, container in pod.containers.items()}

    def fresh_root(self) -> pathlib.Path:
        self.starts += 1
        place = self.place / f"root{self.starts}"
        for name in ("upper", "work", "merged"):
            (place / name).mkdir(parents=True)
        layers = f"lowerdir={self.image.root},upperdir={place}/upper,workdir={place}/work"
        subprocess.run(["mount", "-t", "overlay", "-o", layers, "overlay", place / "merged"], check=True)
        return place / "merged"

    def mounts(self, container: Container, root: pathlib.Path) -> list[dict]:
        def entry(source, to: str, read_only: bool, recursive: bool = False) -> dict:
            return {"from": str(source), "to": to, "readOnly": read_only, "recursive": recursive}

        log = root.parent / "termination-log"
        log.touch(mode=0o666)
        of_the_kubelet = [
            entry(self.place / name, f"/etc/{name}", container.read_only_root) for name in ("hosts", "hostname", "resolv.conf")
        ] + [entry(log, "/dev/termination-log", False)]
        return of_the_kubelet + [
            entry(self.volumes.sources[mount.volume], mount.path, mount.read_only, mount.recursive) for mount in container.mounts
        ]

    def wish_of(self, container: Container) -> dict:
        if container.image != self.image.reference:
            raise ManifestError(f"{container.name}: no image {container.image} here, only {self.image.reference}")
        root = self.fresh_root()
        return {
            "root": str(root),
            "shm": str(self.place / "shm"),
            "mounts": self.mounts(container, root),
            "readOnlyRoot": container.read_only_root,
            "uid": container.uid,
            "gid": container.gid,
            "drop": container.drop,
            "noNewPrivileges": not container.may_escalate,
            "seccomp": base64.b64encode(self.profiles.filter_of(container)).decode(),
            "environment": self.image.environment | ENVIRONMENT | {"HOSTNAME": self.sandbox.name},
            "command": container.command,
        }

    def run_before(self, container: Container) -> None:
        """The kubelet would try again; here one that fails is an error."""
        code = run_to_its_end(self.wish_of(container), self.sandbox, self.place / f"{container.name}.log")
        if code != 0:
            raise RuntimeError(f"{container.name} ended with {code}: {self.said(container.name)}")

    def start(self, container: Container) -> RunningContainer:
        return RunningContainer(container, self.wish_of(container), self.sandbox, self.place / f"{container.name}.log")

    def restart(self, name: str) -> None:
        """When it has ended: the kubelet starts it anew, the first time without waiting."""
        self.running[name].ended(10)
        self.running[name] = self.start(self.pod.containers[name])

    def said(self, name: str) -> str:
        return (self.place / f"{name}.log").read_text(errors="replace")

    def get(self, port: int, path: str, seconds: float = 5) -> tuple[int, str]:
        """From the node, by the pod's address, as the kubelet and Prometheus ask."""
        connection = http.client.HTTPConnection(self.sandbox.address, port, timeout=seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def passes(self, name: str, probe: Probe) -> bool:
        """One probe of the kubelet's, with the manifest's patience."""
        try:
            if probe.command:
                return self.running[name].exec(probe.command, probe.timeout).returncode == 0
            return 200 <= self.get(probe.port, probe.path, probe.timeout)[0] < 400
        except (OSError, subprocess.TimeoutExpired, http.client.HTTPException):
            return False

    def probes(self, kind: str) -> dict[str, Probe]:
        """`kind`: readiness or liveness. By container, where there is one."""
        found = {name: getattr(container, kind) for name, container in self.pod.containers.items()}
        return {name: probe for name, probe in found.items() if probe}

    def failing(self, kind: str) -> list[str]:
        return [name for name, probe in self.probes(kind).items() if not self.passes(name, probe)]

    def is_ready(self) -> bool:
        return not self.failing("readiness")

    def end(self) -> dict[str, tuple[int, float]]:
        """All are told to end at once; exit code and seconds of each. One that needs more than the grace raises."""
        since = time.monotonic()
        for container in self.running.values():
            container.signal(signal.SIGTERM)
        left = {}
        for name, container in self.running.items():
            code = container.ended(max(0.01, since + self.pod.grace - time.monotonic()))
            left[name] = (code, time.monotonic() - since)
        return left

    def close(self) -> None:
        for container in self.running.values():
            container.close()
