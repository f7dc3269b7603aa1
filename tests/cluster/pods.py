"""Pods of users: what they ask for, what becomes of them, what they see."""

import json
import pathlib
import time

from api_client import Refused
from node import CommandFailed, Node
from waiting import TooLong, wait_for

IMAGE = "localhost/box:1"  # busybox, brought by node.sh
TOO_BUSY = ", timed-out,"
# In one write, so that nobody reads the half of it.
SHOW = "echo $(ls /dev/vfio; env | grep ^PCI_RESOURCE_); "
STAY = "trap 'exit 0' TERM; sleep 100000 & wait"  # the first process of a container has no default for SIGTERM
STATIC_PODS = pathlib.Path("/run/static-pods")  # run.sh tells the kubelet
PODS = "/api/v1/namespaces/default/pods"


def pod_of(name: str, resources: dict[str, int] | None = None, command: str = SHOW + STAY, **spec) -> dict:
    limits = {resource: str(count) for resource, count in (resources or {}).items()}
    container = {
        "name": "compute", "image": IMAGE, "imagePullPolicy": "Never", "args": [command], "resources": {"limits": limits},
    }
    own = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": own | spec}


class PodFailed(AssertionError):
    """What its owner reads."""


class Pods:
    """Those of the namespace default."""

    def __init__(self, node: Node):
        self.node = node

    def create(self, pod: dict) -> None:
        self.node.api.create(PODS, pod)

    def find(self, name: str) -> dict | None:
        return self.node.api.get(f"{PODS}/{name}")

    def phase(self, name: str) -> str:
        pod = self.find(name)
        return pod["status"].get("phase", "") if pod else "gone"

    def uid(self, name: str) -> str:
        return self.find(name)["metadata"]["uid"]

    def run(self, pod: dict, seconds: float = 60) -> float:
        """Seconds from its making until it runs. One that is refused since the machine was too busy to answer the kubelet in time is
        made again, as its owner would."""
        until = time.monotonic() + seconds
        while True:
            began = time.monotonic()
            self.create(pod)
            try:
                self.wait_running(pod["metadata"]["name"], seconds)
                return time.monotonic() - began
            except PodFailed as failure:
                if TOO_BUSY not in str(failure) or time.monotonic() > until:
                    raise
                print(f"made again: {failure}", flush=True)
                self.end(pod["metadata"]["name"])

    def wait_running(self, name: str, seconds: float = 60) -> None:
        def running() -> bool:
            pod = self.find(name)
            status = pod["status"] if pod else {}
            if status.get("phase") == "Failed":
                raise PodFailed(f"{name} failed: {status.get('reason')}: {status.get('message')}")
            return bool(status.get("containerStatuses")) and all(one["state"].get("running") for one in status["containerStatuses"])

        try:
            wait_for(f"{name} runs", running, seconds, every=0.05)
        except TooLong as late:
            raise AssertionError(f"{late}\n{self.events(name)}") from None

    def outcome(self, pod: dict, seconds: float = 60) -> tuple[str, str]:
        """Makes it, and waits until it runs or has failed: its phase, and the words that its owner reads."""
        self.create(pod)
        name = pod["metadata"]["name"]
        wait_for(f"{name} runs or is refused", lambda: self.phase(name) in ("Running", "Failed"), seconds, every=0.05)
        status = self.find(name)["status"]
        return status["phase"], f"{status.get('reason', '')}: {status.get('message', '')}"

    def logs(self, name: str) -> str:
        return self.node.kubectl("logs", name)

    def shows(self, name: str) -> list[str]:
        """The nodes and variables that it has said it was given, once it has said them."""
        return wait_for(f"{name} says what it has", lambda: self.said(name), seconds=20, every=0.2)

    def said(self, name: str) -> list[str]:
        try:
            return self.logs(name).split()
        except CommandFailed:
            return []

    def events(self, name: str) -> str:
        """Of the pod that is there now, not of one that had its name before."""
        pod = self.find(name)
        if pod is None:
            return "  it is gone"
        found = self.node.api.items(f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={pod['metadata']['uid']}")
        return "\n".join(f"  event | {one['reason']}: {one['message']}" for one in found)

    def restarts(self, name: str) -> int:
        return sum(one["restartCount"] for one in self.find(name)["status"].get("containerStatuses", []))

    def delete(self, name: str, force: bool = False) -> None:
        self.node.api.delete(f"{PODS}/{name}", grace=0 if force else None)

    def end(self, name: str, seconds: float = 60) -> None:
        self.delete(name)
        wait_for(f"{name} is gone", lambda: self.find(name) is None, seconds)

    def end_all(self) -> None:
        def gone() -> bool:
            for pod in self.node.api.items(PODS):
                try:
                    self.delete(pod["metadata"]["name"])
                except Refused as answer:
                    if answer.code != 409:
                        raise
            return not self.node.api.items(PODS)

        wait_for("all pods are gone", gone, seconds=60, every=0.5)

class StaticPod:
    def __init__(self, pod: dict):
        self.pod = pod
        self.file = STATIC_PODS / f"{pod['metadata']['name']}.yaml"

    def place(self) -> None:
        new = self.file.parent / f".{self.file.name}"  # the kubelet reads no file whose name begins with a dot
        new.write_text(json.dumps(self.pod))
        new.rename(self.file)

    def remove(self) -> None:
        self.file.unlink(missing_ok=True)
