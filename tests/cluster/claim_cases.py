"""Devices by claim, through the scheduler: overlays/dra."""

import json
import time

import yaml

import manifests
from case import Case
from hardware import TREE, topology
from pods import IMAGE, pod_of
from waiting import wait_for

EXAMPLES = TREE / "deploy/examples/dra"
CARD = "0000-01-00-0"
SLICES, CLAIMS = "/apis/resource.k8s.io/v1/resourceslices", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


class WithClaims(Case):
    """Two cards, each alone in its group, one of them on its host driver."""

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(topology("try"))
        cls.installation = cls.install(manifests.shipped("dra"), manifests.simulated(cls.hardware))
        cls.node.kubectl("apply", "-f", EXAMPLES / "classes.yaml")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_claims)
        wait_for("a card can be had", lambda: CARD in self.published() and not self.tainted(CARD), seconds=60)

    def end_claims(self) -> None:
        self.pods.end_all()
        for claim in self.node.api.items(CLAIMS):
            self.node.api.delete(f"{CLAIMS}/{claim['metadata']['name']}")
        wait_for("claims are gone", lambda: not self.node.api.items(CLAIMS), seconds=30)

    def published(self) -> dict[str, dict]:
        """By name, the devices in the node's slices."""
        return {device["name"]: device for one in self.node.api.items(SLICES) for device in one["spec"].get("devices", [])}

    def tainted(self, name: str) -> bool:
        return bool(self.published()[name].get("taints"))

    def claim(self, name: str, count: int = 1) -> dict:
        exactly = {"deviceClassName": "nvidia-gpu.vfiogate.dev", "count": count, "allocationMode": "ExactCount"}
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}

    def pod_with(self, name: str, claim: str) -> dict:
        pod = pod_of(name, resourceClaims=[{"name": "card", "resourceClaimName": claim}])
        pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "card"}]}
        return pod


class Claims(WithClaims):
    def test_the_example_s_pod_gets_its_device(self):
        """deploy/examples/dra/pod.yaml as it is, but for an image that the node has."""
        documents = list(yaml.safe_load_all((EXAMPLES / "pod.yaml").read_text()))
        for one in documents:
            for container in one["spec"].get("containers", []) if one["kind"] == "Pod" else []:
                container |= {"image": IMAGE, "imagePullPolicy": "Never"}
        given = "\n---\n".join(json.dumps(one) for one in documents)
        began = time.monotonic()
        self.node.kubectl("apply", "-f", "-", given=given)
        self.addCleanup(self.node.kubectl, "delete", "-f", "-", "--ignore-not-found", given=given)
        self.pods.wait_running("dra-look")
        self.measure(f"a pod with a claim runs with its device {time.monotonic() - began:.1f} s after it was made")
        self.assertEqual(self.pods.shows("dra-look"), ["12", "vfio"])
        self.assertIn("/dev/vfio/12", self.witness.holders())

    def test_a_second_claim_waits_for_the_first(self):
        for name in ("first", "second"):
            self.node.api.create(CLAIMS, self.claim(name))
        self.pods.run(self.pod_with("vm", "first"))
        self.pods.create(self.pod_with("waiting", "second"))
        why = wait_for("the scheduler says why", lambda: self.pods.events("waiting"), seconds=20)
        self.measure(f"its user reads: {why.strip()}")
        self.assertEqual(self.pods.phase("waiting"), "Pending")
        began = time.monotonic()
        self.pods.end("vm")
        self.node.api.delete(f"{CLAIMS}/first")
        self.pods.wait_running("waiting", seconds=60)
        self.measure(f"the waiting pod runs {time.monotonic() - began:.1f} s after the first was deleted")
