"""Devices that go together, by claims and by the device plugin: whoever has a set has all of it, and the scheduler knows."""

import manifests
from case import Case
from claim_cases import CLAIMS, SLICES
from hardware import topology
from pods import pod_of
from waiting import holds_for, wait_for

HALF, WHOLE, ONE = "vfiogate.dev/hgx_4", "vfiogate.dev/hgx_8", "vfiogate.dev/10de_2330"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
LEFT = [f"0000:{bus}1:00.0" for bus in range(1, 5)]
RIGHT = [f"0000:{bus}1:00.0" for bus in range(5, 9)]


def text_of(devices: list[str]) -> str:
    return ", ".join(f'"{device}"' for device in devices)


CONFIGURATION = f"""resources:
- {{select: {{device: "2330"}}, serve: both}}
- name: {HALF}
  serve: both
  overlap: exclude
  sets:
  - {{name: partition-1, devices: [{text_of(LEFT)}]}}
  - {{name: partition-2, devices: [{text_of(RIGHT)}]}}
- name: {WHOLE}
  serve: both
  overlap: exclude
  sets:
  - {{name: partition-0, devices: [{text_of(LEFT + RIGHT)}]}}
dra: {{driver: vfio.vfiogate.dev}}
"""


def class_of(name: str, resource: str) -> dict:
    expression = f'device.driver == "vfio.vfiogate.dev" && device.attributes["vfio.vfiogate.dev"].resource == "{resource}"'
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


class Sets(Case):
    """Eight GPUs in partitions of four and of eight, and each alone."""

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(topology("eight-gpu"))
        cls.installation = cls.install(manifests.shipped("dra"), [*manifests.simulated(cls.hardware), manifests.configured(CONFIGURATION)])
        for name, resource in (("half", HALF), ("whole", WHOLE), ("one", ONE)):
            cls.node.api.create(CLASSES, class_of(name, resource))
            cls.addClassCleanup(cls.node.api.delete, f"{CLASSES}/{name}")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_claims)
        wait_for("all sets can be had", self.are_free, seconds=120)

    def end_claims(self) -> None:
        self.pods.end_all()
        for claim in self.node.api.items(CLAIMS):
            self.node.api.delete(f"{CLAIMS}/{claim['metadata']['name']}")
        wait_for("claims are gone", lambda: not self.node.api.items(CLAIMS), seconds=30)

    def published(self) -> dict[str, dict]:
        return {device["name"]: device for one in self.node.api.items(SLICES) for device in one["spec"].get("devices", [])}

    def are_free(self) -> bool:
        published = self.published()
        sets = [published.get(f"set-partition-{number}") for number in range(3)]
        counted = self.node.allocatable(HALF) == 2 and self.node.allocatable(WHOLE) == 1
        return counted and all(device and not device.get("taints") for device in sets)

    def create(self, name: str, of: str) -> None:
        exactly = {"deviceClassName": of, "count": 1, "allocationMode": "ExactCount"}
        spec = {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}
        self.node.api.create(CLAIMS, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec})
        pod = pod_of(name, resourceClaims=[{"name": "gpus", "resourceClaimName": name}])
        pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpus"}]}
        self.pods.create(pod)

    def allocated(self, name: str) -> str:
        claim = next(one for one in self.node.api.items(CLAIMS) if one["metadata"]["name"] == name)
        return claim["status"]["allocation"]["devices"]["results"][0]["device"]

    def groups_of(self, devices: list[str]) -> list[str]:
        """eight-gpu.yaml: the GPU of the Nth bus is in group 2N-1."""
        return [str(2 * int(device[5]) - 1) for device in devices]

    def test_a_claim_of_a_set_has_all_its_devices_and_what_overlaps_waits(self):
        consumed = self.published()["set-partition-0"]["consumesCounters"]
        self.assertEqual(sum(len(one["counters"]) for one in consumed), 8)
        self.create("half", "half")
        self.pods.wait_running("half")
        mine = LEFT if self.allocated("half") == "set-partition-1" else RIGHT
        self.assertEqual(sorted(self.pods.shows("half")), sorted([*self.groups_of(mine), "vfio"]))
        self.create("whole", "whole")
        why = wait_for("the scheduler says why", lambda: self.pods.events("whole"), seconds=30)
        self.measure(f"whoever asks for all eight reads: {why.strip()}")
        self.create("other", "half")
        self.pods.wait_running("other")
        holds_for("the whole waits", lambda: self.pods.phase("whole") == "Pending", seconds=5)
        for name in ("half", "other"):
            self.pods.end(name)
            self.node.api.delete(f"{CLAIMS}/{name}")
        self.pods.wait_running("whole", seconds=90)
        self.assertEqual(len(self.pods.shows("whole")), 9)

    def test_a_pod_of_a_set_has_all_its_devices_through_a_restart(self):
        self.pods.run(pod_of("half", {HALF: 1}))
        shown = self.pods.shows("half")
        variable = next(word for word in shown if word.startswith("PCI_RESOURCE_"))
        mine = variable.split("=")[1].split(",")
        self.assertIn(mine, (LEFT, RIGHT))
        self.assertEqual(sorted(set(shown) - {variable}), sorted([*self.groups_of(mine), "vfio"]))
        self.installation.kill("plugind")
        wait_for("plugind is back", lambda: self.installation.restarts("plugind") == 1 and not self.installation.unready(), seconds=60)
        states = wait_for("its devices are known", lambda: self.states_if_known(mine), seconds=60)
        self.assertEqual({states[device] for device in mine}, {"allocated"})
        phase, words = self.pods.outcome(pod_of("whole", {WHOLE: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        self.pods.run(pod_of("one", {ONE: 1}))
        alone = next(word for word in self.pods.shows("one") if word.startswith("PCI_RESOURCE_")).split("=")[1]
        self.assertIn(alone, set(LEFT + RIGHT) - set(mine))

    def states_if_known(self, devices: list[str]) -> dict[str, str] | None:
        states = self.installation.group_states()
        return states if all(states.get(device) == "allocated" for device in devices) else None
