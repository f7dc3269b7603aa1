"""vfiogate on the node, from `kubectl apply` to `kubectl delete`: its pods, what they say, when they are ready."""

import json
import os
import pathlib
import signal
import time

from node import CommandFailed, Node
from waiting import TooLong, wait_for

NAMESPACE = "vfiogate"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


class Installation:
    """`directory`: a kustomization, applied with the commands of docs/install.md."""

    def __init__(self, node: Node, directory: pathlib.Path):
        self.node, self.directory = node, directory
        self.began = time.monotonic()
        self.apply()

    def apply(self) -> None:
        self.node.kubectl("apply", "-k", self.directory)

    def delete(self) -> None:
        self.node.kubectl("delete", "-k", self.directory, "--ignore-not-found", "--wait=false")

    def pods(self) -> list[dict]:
        return [pod for pod in self.node.api.items(PODS) if "deletionTimestamp" not in pod["metadata"]]

    def name(self) -> str:
        """Raises CommandFailed while there is none, or two."""
        names = [pod["metadata"]["name"] for pod in self.pods()]
        if len(names) != 1:
            raise CommandFailed(f"pods of vfiogate: {names}")
        return names[0]

    def unready(self) -> list[str]:
        """DaemonSets of which not every node's pod is ready and of the newest generation; `none` where there is none."""
        found = self.node.api.items(f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets")
        return ["none"] * (not found) + [one["metadata"]["name"] for one in found if not complete(one)]

    def wait_ready(self, seconds: float) -> float:
        """Seconds from `apply` until each container of each pod is Ready."""
        try:
            wait_for("its DaemonSets are ready", lambda: not self.unready(), seconds, every=0.2)
        except TooLong as late:
            raise AssertionError(f"{late}\n{self.state()}") from None
        return time.monotonic() - self.began

    def state(self) -> str:
        """For whoever reads a failure."""
        lines = []
        for pod in self.pods():
            lines.append(f"{pod['metadata']['name']}: {pod['status'].get('phase')}")
            for container in pod["status"].get("containerStatuses", []):
                lines.append(f"  {container['name']}: ready={container['ready']} restarts={container['restartCount']} "
                             f"{json.dumps(container['state'])[:300]}")
            for container in ("privd-hardware", "privd-gate", "plugind"):
                lines += [f"  {container} | {line}" for line in self.logs(container, pod["metadata"]["name"]).splitlines()[-6:]]
            lines.append(f"  probe: {self.probe()}")
        return "\n".join(lines)

    def logs(self, container: str, pod: str | None = None, previous: bool = False) -> str:
        try:
            return self.node.kubectl("logs", "-n", NAMESPACE, pod or self.name(), "-c", container, *["--previous"] * previous)
        except CommandFailed as failure:
            return str(failure)

    def execute(self, container: str, *command: str) -> str:
        return self.node.kubectl("exec", "-n", NAMESPACE, self.name(), "-c", container, "--", *command)

    def probe(self) -> str:
        """What `plugind probe` says, whether it is ready or not."""
        try:
            return self.execute("plugind", "/usr/bin/plugind", "probe", "--timeout=5000").strip()
        except CommandFailed as failure:
            return str(failure).partition(": exit ")[2]

    def status(self) -> dict:
        return json.loads(self.execute("plugind", "/usr/bin/plugind", "status", "-o", "json", "--timeout=5000"))

    def journal(self) -> list[dict]:
        """plugind's lines of JSON, of its present container."""
        return [json.loads(line) for line in self.logs("plugind").splitlines() if line.startswith("{")]

    def free(self) -> dict[str, int]:
        """By resource, how many devices are nobody's, and the kubelet was told so."""
        return {
            one["name"]: sum((device["health"], device["state"]) == ("healthy", "free") for device in one["devices"])
            for one in self.status()["resources"]
        }

    def is_standing(self) -> bool:
        """All resources are registered, and the kubelet listens."""
        try:
            return all(one["registration"] == "standing" and one["streams"] for one in self.status()["resources"])
        except CommandFailed:
            return False

    def group_states(self) -> dict[str, str]:
        """By device, what plugind says of its group."""
        return {one["address"]: one["state"] for resource in self.status()["resources"] for one in resource["devices"]}

    def holder_pods(self) -> set[str]:
        """Of the holders, the pods that plugind knows by name: "namespace/name"."""
        devices = [device for one in self.status()["resources"] for device in one["devices"]]
        return {holder["pod"] for device in devices for holder in device.get("holders", []) if "pod" in holder}

    def process_of(self, container: str) -> int:
        """Its first process, by the node's own count of processes."""
        identity = self.container_status(container)["containerID"].removeprefix("containerd://")
        return int(pathlib.Path(f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{identity}/init.pid").read_text())

    def container_status(self, container: str) -> dict:
        [pod] = self.pods()
        [found] = [one for one in pod["status"].get("containerStatuses", []) if one["name"] == container] or [{}]
        return found

    def restarts(self, container: str) -> int:
        """How often it was started again; -1 while it does not run."""
        status = self.container_status(container)
        return status["restartCount"] if status.get("state", {}).get("running") else -1

    def kill(self, container: str) -> None:
        os.kill(self.process_of(container), signal.SIGKILL)

    def remove(self) -> float:
        """Seconds until nothing of it runs any more."""
        began = time.monotonic()
        self.delete()
        wait_for("its pods are gone", lambda: not self.node.api.items(PODS), seconds=60)
        wait_for("its namespace is gone", lambda: self.node.api.get(f"/api/v1/namespaces/{NAMESPACE}") is None, seconds=60)
        return time.monotonic() - began


class Release(Installation):
    """The chart, installed with the commands of its README; `directory` is the chart."""

    def __init__(self, node: Node, directory: pathlib.Path, helm: pathlib.Path, *words: str):
        self.helm, self.words = helm, words
        super().__init__(node, directory)

    def apply(self) -> None:
        self.node.kubectl("create", "namespace", NAMESPACE)
        self.node.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=privileged")
        self.node.run(self.helm, "install", "vfiogate", self.directory, "--namespace", NAMESPACE, *self.words)

    def delete(self) -> None:
        self.node.run(self.helm, "uninstall", "vfiogate", "--namespace", NAMESPACE, "--ignore-not-found")
        self.node.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


def complete(daemon_set: dict) -> bool:
    status = daemon_set["status"]
    wanted = status.get("desiredNumberScheduled", 0)
    seen = status.get("observedGeneration") == daemon_set["metadata"]["generation"]
    return seen and wanted > 0 and status.get("numberReady", 0) == status.get("updatedNumberScheduled", 0) == wanted
