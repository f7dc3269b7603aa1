"""Two kubelets behind one set of words: the node's, and the stand-in (sim/kubelet_program)."""

import json
import pathlib
import subprocess

from node import KUBELET, Node
from pods import Pods
from recorder import Recorder
from waiting import wait_for

RESTING = ("PodInitializing", "ContainerCreating")  # reasons of a container that is only on its way
BY_ITSELF = "sleep 1"


def container_of(name: str, resource: str, count: int, command: str) -> dict:
    limits = {resource: str(count)} if count else {}
    return {"name": name, "image": "localhost/box:1", "imagePullPolicy": "Never", "args": [command], "resources": {"limits": limits}}


class Kubelet:
    """With a recording plugin. What is observed of it is the same words for both."""

    def __init__(self, programs: pathlib.Path, directory: pathlib.Path, resource: str):
        self.directory = directory
        self.resource = resource
        self.uids: dict[str, str] = {}
        self.recorder = Recorder(programs, directory, resource)

    def plugin(self, *shown: str, options: str = "") -> None:
        """Serves, registers, and has shown its devices."""
        self.recorder.ask("listen")
        if options:
            self.recorder.ask("options", options)
        answer = self.recorder.ask("register")
        assert answer == "", answer
        self.show(*shown)

    def show(self, *shown: str) -> None:
        """A frame, and the checkpoint that the kubelet writes after it."""
        self.recorder.ask("show", *shown)
        healthy = sorted(one for one in shown if not one.startswith("!"))
        wait_for(f"{healthy} can be allocated", lambda: self.allocatable() == healthy, seconds=20)
        wait_for(f"the checkpoint names {healthy} as registered", lambda: self.registered() == healthy, seconds=20)

    def checkpoint_file(self) -> pathlib.Path:
        return self.directory / "device-plugins/kubelet_internal_checkpoint"

    def checkpoint(self) -> dict:
        try:
            return json.loads(self.checkpoint_file().read_text())["Data"]
        except FileNotFoundError:
            return {"PodDeviceEntries": None, "RegisteredDevices": {}}

    def registered(self):
        found = self.checkpoint()["RegisteredDevices"].get(self.resource)
        return None if found is None else sorted(found)

    def remembered(self) -> dict:
        """Pod, container: ids, of our resource."""
        names = {uid: name for name, uid in self.uids.items()}
        found: dict[str, dict] = {}
        entries = [one for one in self.checkpoint()["PodDeviceEntries"] or [] if one["ResourceName"] == self.resource]
        for one in sorted(entries, key=lambda one: (names[one["PodUID"]], one["ContainerName"])):
            ids = [each for some in one["DeviceIDs"].values() for each in some]
            found.setdefault(names[one["PodUID"]], {})[one["ContainerName"]] = sorted(ids)
        return found

    def listed(self) -> dict:
        """What PodResources List says of our pods."""
        found = self.recorder.ask("list")
        assert isinstance(found, dict), found
        pods = {name.removeprefix("default/"): containers for name, containers in sorted(found.items())}
        return {pod: {name: sorted(one for resource, one in devices if resource == self.resource) for name, devices in containers.items()}
                for pod, containers in pods.items() if pod in self.uids}

    def allocatable(self) -> list[str]:
        return sorted(one for resource, one in self.recorder.ask("allocatable") if resource == self.resource)

    def pod(self, name: str, *apps: tuple[str, int], init: tuple = (), command: str = "trap 'exit 0' TERM; sleep 1000 & wait", **spec) -> dict:
        own = {"nodeName": "node", "restartPolicy": "Never", "terminationGracePeriodSeconds": 2,
               "containers": [container_of(one, self.resource, count, command) for one, count in apps]}
        if init:
            own["initContainers"] = [container_of(one, self.resource, count, "true") for one, count in init]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": own | spec}


class RealKubelet(Kubelet):
    def __init__(self, programs: pathlib.Path, node: Node, resource: str):
        super().__init__(programs, KUBELET, resource)
        self.node = node
        self.pods = Pods(node)

    def run(self, pod: dict, until: str = "Running") -> list[str]:
        """What its owner reads when it runs, has failed or hangs in its start."""
        name = pod["metadata"]["name"]
        self.pods.create(pod)
        self.uids[name] = self.pods.uid(name)
        return wait_for(f"{name} is {until} or not to be", lambda: self.state(name, until), seconds=60, every=0.05)

    def state(self, name: str, until: str) -> list[str]:
        status = self.pods.find(name)["status"]
        containers = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
        waiting = [one["state"]["waiting"] for one in containers if "waiting" in one["state"]]
        for one in waiting:
            if one["reason"] not in RESTING:
                return [one["reason"], one.get("message", "")]
        if status["phase"] == "Failed":
            return ["Failed", status.get("reason", ""), status.get("message", "")]
        running = all("running" in one["state"] for one in status.get("containerStatuses", []))
        return [until] if status["phase"] == until and (running or until != "Running") else []

    def run_to_end(self, pod: dict) -> list[str]:
        return self.run(pod, "Succeeded")

    def wait_restarted(self, name: str) -> None:
        """Its container ends by itself."""
        wait_for(f"{name} has restarted", lambda: self.pods.restarts(name) > 0, seconds=30)

    def delete(self, name: str, force: bool = False) -> None:
        self.pods.delete(name, force)
        wait_for(f"{name} is gone", lambda: self.pods.find(name) is None, seconds=30)
        # The object may be gone a moment before the kubelet hears of it.
        wait_for(f"List does not name {name}", lambda: name not in self.listed(), seconds=30)

    def restart(self, between=lambda: None) -> None:
        self.node.restart_kubelet("kill", between)

    def health(self, name: str) -> list:
        status = self.pods.find(name)["status"]["containerStatuses"][0]
        return status.get("allocatedResourcesStatus", [])

    def counted(self) -> list:
        return [self.node.counted(which).get(self.resource) for which in ("capacity", "allocatable")]

    def end(self) -> None:
        for name in self.uids:  # by force: the next scenario has a resource of its own
            self.pods.delete(name, force=True)
        self.recorder.end()


class StandIn(Kubelet):
    def __init__(self, programs: pathlib.Path, directory: pathlib.Path, resource: str):
        self.program = programs / "kubelet-sim"
        self.files = directory
        directory.mkdir()
        self.log = (directory / "log").open("w")
        kubelet = directory / "k"
        self.running = subprocess.Popen([self.program, "run", "--dir", kubelet], stdout=self.log, stderr=subprocess.STDOUT)
        wait_for("the stand-in answers", lambda: self.ctl("get", "node").returncode == 0, seconds=20)
        super().__init__(programs, kubelet, resource)

    def ctl(self, *words) -> subprocess.CompletedProcess:
        command = [self.program, "ctl", self.files / "k", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def found(self, name: str) -> dict:
        pods = json.loads(self.ctl("get", "pods", "-o", "json").stdout)["items"]
        return next(one for one in pods if one["metadata"]["name"] == name)

    def run(self, pod: dict) -> list[str]:
        name = pod["metadata"]["name"]
        file = self.files / f"{name}.yaml"
        file.write_text(json.dumps(pod))
        admitted = self.ctl("admit", file)
        self.uids[name] = self.found(name)["metadata"]["uid"]
        if admitted.returncode != 0:
            status = self.found(name)["status"]
            return [status["phase"], status["reason"], status["message"]]
        for one in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]:
            if self.ctl("start", name, one["name"]).returncode != 0:
                status = self.found(name)["status"]
                return [status["reason"], status["message"]]
            if one in pod["spec"].get("initContainers", []):
                self.ctl("stop", name, one["name"])
        return ["Running"]

    def run_to_end(self, pod: dict) -> list[str]:
        self.run(pod)
        self.ctl("end", pod["metadata"]["name"])
        return ["Succeeded"]

    def wait_restarted(self, name: str) -> None:
        for one in self.found(name)["status"]["containerStatuses"]:
            answer = self.ctl("start", name, one["name"])
            assert answer.returncode == 0, answer.stderr

    def delete(self, name: str, force: bool = False) -> None:
        self.ctl("delete", name, *(["--force"] if force else []))

    def restart(self, between=lambda: None) -> None:
        self.ctl("crash")
        between()
        self.ctl("boot")

    def health(self, name: str) -> list:
        return self.found(name)["status"]["containerStatuses"][0]["allocatedResourcesStatus"]

    def counted(self) -> list:
        status = json.loads(self.ctl("get", "node", "-o", "json").stdout)["status"]
        found = [status[which].get(self.resource) for which in ("capacity", "allocatable")]
        return [None if one is None else int(one) for one in found]

    def end(self) -> None:
        self.recorder.end()
        self.running.terminate()
        self.running.wait(timeout=20)
        self.log.close()
