"""What the cases of pod_test.py need: a node, the pod on it, and what is seen of them."""

import itertools
import json
import pathlib
import unittest

import mount_table
import pod_sources
import process_facts
from patience import await_that
from pod_manifest import pod_of
from pod_sandbox import Sandbox
from pod_seccomp import SeccompProfiles, of_runtimes
from pod_volumes import Volumes
from running_pod import RunningPod
from simulated_node import SimulatedNode
from unpacked_image import UnpackedImage

TRY = pod_sources.TREE / "tests/topologies/try.yaml"
CARD = "vfiogate.dev/10de_2684"
# What a runtime and a kubelet mount whatever the pod says.
OF_THE_RUNTIME = ("/dev", "/proc", "/sys", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")


def resources(pod: RunningPod) -> list[dict]:
    """What plugind says of them."""
    said = pod.running["plugind"].exec(["/usr/bin/plugind", "status", "-o", "json", "--timeout=5000"])
    return json.loads(said.stdout)["resources"] if said.returncode == 0 else []


def standing(pod: RunningPod) -> bool:
    """All are registered, and the kubelet listens."""
    found = resources(pod)
    return bool(found) and all(one["registration"] == "standing" and one["streams"] for one in found)


def holders(pod: RunningPod) -> dict[str, list[str]]:
    """By device, how those have it who do."""
    devices = [device for resource in resources(pod) for device in resource["devices"]]
    return {device["address"]: [holder["state"] for holder in device["holders"]] for device in devices if device.get("holders")}


def mounted(pod: RunningPod) -> dict[tuple[str, str], bool]:
    """What the pod's own mounts are in the end, as the kernel has it: (container, path) to writable."""
    return {
        (name, point.path): point.writable
        for name, container in pod.running.items()
        for point in process_facts.mount_points(container.pid)
        if point.path != "/" and not (point.path + "/").startswith(tuple(f"{path}/" for path in OF_THE_RUNTIME))
    }


class Case(unittest.TestCase):
    """`root`: where cases keep their files; `image` is made once for all. `runtime`: whose default seccomp profile applies."""

    maxDiff = None
    numbers = itertools.count(1)
    programs = root = pathlib.Path()
    image: UnpackedImage
    runtime = "Docker"  # containerd's default profile says in code nearly what Docker's says

    def setUp(self):
        self.start_anew()

    def start_anew(self) -> None:
        """A directory for another node."""
        self.place = self.root / str(next(self.numbers))
        self.place.mkdir()

    def run(self, result=None):
        done = super().run(result)
        if any(test is self for test, _ in done.failures + done.errors):
            for log in [*self.place.glob("*.log"), *self.place.glob("pod-*/*.log")]:
                print(f"--- {log.relative_to(self.place)}", log.read_text(errors="replace")[-3000:], sep="\n")
        return done

    def sandbox(self) -> Sandbox:
        sandbox = Sandbox("vfiogate-abcde")
        self.addCleanup(sandbox.close)
        return sandbox

    def node(self, listener: Sandbox, topology: pathlib.Path = TRY) -> SimulatedNode:
        node = SimulatedNode(self.programs, topology, listener, self.place)
        self.addCleanup(node.close)
        return node

    def pod(self, node: SimulatedNode, sandbox: Sandbox, documents: list[dict], which: int = 0) -> RunningPod:
        daemon_set = pod_sources.of_kind("DaemonSet", documents)[which]
        place = self.place / f"pod-{sandbox.address}"
        place.mkdir()
        pod = pod_of(daemon_set)
        volumes = Volumes(pod, pod_sources.config_maps(documents), node.root, place / "volumes")
        profiles = SeccompProfiles(of_runtimes()[self.runtime].profile, node.kubelet_directory / "seccomp")
        running = RunningPod(pod, volumes, self.image, profiles, sandbox, place)
        self.addCleanup(running.close)
        return running

    def cards(self, count: int) -> pathlib.Path:
        """A topology of so many cards of one model, each alone in its group."""
        same = {"id": "10de:2684", "class": "030000", "driver": "vfio-pci"}
        devices = [same | {"address": f"0000:{i // 32 + 1:02x}:{i % 32:02x}.0", "group": i} for i in range(count)]
        file = self.place / "cards.yaml"
        file.write_text(json.dumps({"drivers": [{"name": "vfio-pci", "kind": "vfio"}], "devices": devices}))
        return file

    def stack(self, documents: list[dict] | None = None, topology: pathlib.Path = TRY) -> tuple[SimulatedNode, RunningPod]:
        sandbox = self.sandbox()
        node = self.node(sandbox, topology)
        return node, self.pod(node, sandbox, documents or pod_sources.configured("kubevirt"))

    def assert_mounts_as_said(self, pod: RunningPod, with_cdi: bool = False):
        self.assertEqual(mounted(pod), mount_table.said(with_cdi))

    def kustomized(self, overlay: str) -> list[dict]:
        try:
            return pod_sources.kustomized(overlay)
        except pod_sources.Unavailable as reason:
            self.skipTest(str(reason))

    def assert_admitted(self, node: SimulatedNode, name: str, resource: str = CARD) -> str:
        await_that(f"{resource} is offered", lambda: node.allocatable().get(resource))
        admitted = node.admit({name: resource})
        self.assertEqual(admitted.returncode, 0, admitted.stdout + admitted.stderr)
        started = node.ask_kubelet("start", name, "compute")
        self.assertEqual(started.returncode, 0, started.stdout + started.stderr)
        return admitted.stdout
