"""DRA in a cluster's less quiet hours: two claims on one group, slices that others change, the API server away, a device that goes,
and what the driver's account may not do."""

import copy
import pathlib
import time

import manifests
from api_client import Refused
from claim_cases import CARD, CLAIMS, EXAMPLES, SLICES, WithClaims
from hardware import topology
from waiting import holds_for, wait_for

SLOTS = """resources:
- select: {vendor: "8086", device: "100e"}
  groupUnit: all
  serve: dra
- select: {vendor: "10de", class: "03"}
  serve: dra
dra: {driver: vfio.vfiogate.dev, metadataFiles: true}
"""
CLASS = {
    "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "slot"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "vfio.vfiogate.dev" && device.attributes["vfio.vfiogate.dev"].device == "100e"'}}]},
}
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
FIRST, SECOND = "0000-04-01-0", "0000-04-02-0"


class TwoClaims(WithClaims):
    long = True

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(topology("try"))
        cls.installation = cls.install(manifests.shipped("dra"), [*manifests.simulated(cls.hardware), manifests.configured(SLOTS)])
        cls.node.kubectl("apply", "-f", EXAMPLES / "classes.yaml")
        cls.node.api.create(CLASSES, CLASS)
        cls.addClassCleanup(cls.node.api.delete, f"{CLASSES}/slot")

    def slot_claim(self, name: str) -> dict:
        claim = self.claim(name)
        claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "slot"
        return claim

    def test_on_one_group(self):
        """Two functions of a group share a counter: the scheduler gives them to no two claims."""
        self.assertLess({FIRST, SECOND}, self.published().keys())
        for name in ("first", "second"):
            self.node.api.create(CLAIMS, self.slot_claim(name))
        self.pods.run(self.pod_with("vm", "first"))
        self.pods.create(self.pod_with("waiting", "second"))
        why = wait_for("the scheduler says why", lambda: self.pods.events("waiting"), seconds=30)
        self.measure(f"the second claim's user reads: {why.strip()}")
        holds_for("it waits", lambda: self.pods.phase("waiting") == "Pending", seconds=5)
        began = time.monotonic()
        self.pods.end("vm")
        self.node.api.delete(f"{CLAIMS}/first")
        self.pods.wait_running("waiting", seconds=90)
        self.measure(f"it runs {time.monotonic() - began:.1f} s after the first was deleted")


class Slices(WithClaims):
    long = True

    def slices(self) -> list[dict]:
        return [one for one in self.node.api.items(SLICES) if one["spec"]["driver"] == "vfio.vfiogate.dev"]

    def specs(self) -> list[dict]:
        """What is published, without what every write changes."""
        return sorted(({key: value for key, value in one["spec"].items() if key != "pool"} for one in self.slices()), key=str)

    def test_deleted_ones_come_back(self):
        before = self.specs()
        for one in self.slices():
            self.node.api.delete(f"{SLICES}/{one['metadata']['name']}")
        began = time.monotonic()
        wait_for("they are as before", lambda: self.specs() == before, seconds=60)
        self.measure(f"deleted slices are there again after {time.monotonic() - began:.1f} s")

    def test_changed_ones_are_mended(self):
        before = self.specs()
        [mine] = [one for one in self.slices() if one["spec"].get("devices")][:1]
        worse = copy.deepcopy(mine)
        worse["spec"]["devices"] = worse["spec"]["devices"][:0] + [dict(worse["spec"]["devices"][0], name="0000-99-00-0")]
        self.node.api.ask("PUT", f"{SLICES}/{mine['metadata']['name']}", worse)
        self.assertNotEqual(self.specs(), before)
        began = time.monotonic()
        wait_for("they are as before", lambda: self.specs() == before, seconds=60)
        self.measure(f"a tampered slice is mended after {time.monotonic() - began:.1f} s")

    def test_the_api_server_is_away(self):
        """Pods with claims run on; what happened meanwhile is published when it is back."""
        self.node.api.create(CLAIMS, self.claim("first"))
        self.pods.run(self.pod_with("vm", "first"))
        self.node.control("apiserver", "kill")
        self.hardware.order("unplug", "0000:02:00.0")
        time.sleep(5)  # it has to be away for a while: that is what is tried
        self.node.control("apiserver", "start")
        self.addCleanup(self.hardware.order, "plug", "0000:02:00.0")
        began = time.monotonic()
        wait_for("the API server answers", self.answers, seconds=60)
        wait_for("the unplugged card is gone", lambda: "0000-02-00-0" not in self.published(), seconds=60)
        self.measure(f"slices are right {time.monotonic() - began:.1f} s after the API server's start")
        self.pods.wait_running("vm")
        self.assertEqual(self.pods.restarts("vm"), 0)

    def answers(self) -> bool:
        try:
            return self.node.is_ready()
        except (OSError, Refused):
            return False

    def test_a_device_that_goes_is_told(self):
        self.node.api.create(CLAIMS, self.claim("first"))
        self.pods.run(self.pod_with("vm", "first"))
        self.hardware.order("unplug", "0000:01:00.0")
        self.addCleanup(self.hardware.order, "bind", "0000:01:00.0", "vfio-pci")
        self.addCleanup(self.hardware.order, "plug", "0000:01:00.0")
        found = wait_for("the pod's status says so", self.health, seconds=60)
        self.measure(f"the pod's status says: {found}")

    def health(self) -> list:
        """Of the pod's devices, those that are not healthy."""
        status = self.pods.find("vm")["status"]["containerStatuses"][0]
        resources = [one for entry in status.get("allocatedResourcesStatus", []) for one in entry.get("resources", [])]
        return [one for one in resources if one.get("health") != "Healthy"]


class Account(WithClaims):
    """What netd-dra's token may not do, though its role alone would let it."""

    long = True

    def setUp(self):
        super().setUp()
        root = pathlib.Path(f"/proc/{self.installation.process_of('netd-dra')}/root")
        self.theirs = self.node.another_client()
        self.theirs.token = (root / "var/run/secrets/kubernetes.io/serviceaccount/token").read_text()

    def refused(self, method: str, path: str, body: dict | None = None) -> str:
        with self.assertRaises(Refused) as answer:
            self.theirs.ask(method, path, body)
        self.assertEqual(answer.exception.code // 100, 4)
        self.measure(f"{method} {path}: {answer.exception}"[:400])
        return str(answer.exception)

    def test_slices_of_other_nodes_in_each_version(self):
        pool = {"name": "other", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "vfio.vfiogate.dev", "nodeName": "other", "pool": pool}
        for version in ("v1", "v1beta2", "v1beta1"):
            group = f"resource.k8s.io/{version}"
            theirs = {"apiVersion": group, "kind": "ResourceSlice", "metadata": {"name": "theirs"}, "spec": spec}
            said = self.refused("POST", f"/apis/{group}/resourceslices", theirs)
            self.assertIn("a slice of another node or another driver cannot be written", said)

    def test_slices_of_other_nodes_and_drivers(self):
        spec = {"driver": "vfio.vfiogate.dev", "nodeName": "other", "pool": {"name": "other", "generation": 1, "resourceSliceCount": 1}}
        slice_of = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "theirs"}, "spec": spec}
        self.refused("POST", SLICES, slice_of)
        pool = {"name": "node", "generation": 1, "resourceSliceCount": 1}
        self.refused("POST", SLICES, slice_of | {"spec": {"driver": "gpu.example.com", "nodeName": "node", "pool": pool}})

    def test_claims_of_others_and_secrets(self):
        self.node.api.create(CLAIMS, self.claim("unallocated"))
        claim = self.node.api.get(f"{CLAIMS}/unallocated")
        claim["status"] = {"devices": [{"driver": "vfio.vfiogate.dev", "pool": "node", "device": CARD}]}
        self.refused("PUT", f"{CLAIMS}/unallocated/status", claim)
        self.refused("GET", "/api/v1/namespaces/default/secrets")
        self.refused("GET", "/api/v1/namespaces/default/pods")
