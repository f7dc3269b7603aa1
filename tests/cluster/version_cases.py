"""resource.k8s.io in the versions before v1, at the node's own API server: netd is held to one by a proxy that knows no other; whoever
owns the pod writes the claim in that version, too. The scheduler and the kubelet are of the node's release and speak v1."""

import json
import re
import time

import yaml

import manifests
from claim_cases import CARD, EXAMPLES, WithClaims
from hardware import topology
from pods import IMAGE
from version_proxy import VERSION, VersionProxy
from waiting import wait_for


def as_version(text: str, version: str) -> str:
    """As docs/dra.md says it is done."""
    return re.sub(r"resource\.k8s\.io/v1$", f"resource.k8s.io/{version}", text, flags=re.MULTILINE)


class HeldTo(WithClaims):
    version = "v1"

    @classmethod
    def setUpClass(cls):
        cls.proxy = VersionProxy(cls.node, cls.version)
        cls.addClassCleanup(cls.proxy.close)
        cls.hardware = cls.hardware_of(topology("try"))
        through = manifests.arguments("netd-dra", f"--api-server=https://127.0.0.1:{cls.proxy.port}")
        cls.installation = cls.install(manifests.shipped("dra"), [*manifests.simulated(cls.hardware), through])
        cls.node.kubectl("apply", "-f", "-", given=as_version((EXAMPLES / "classes.yaml").read_text(), cls.version))

    def spoken(self) -> set[str]:
        """The versions in which the proxy passed something on."""
        return {match[1] for one in self.proxy.requests() if (match := VERSION.search(one))}

    def stored(self) -> dict[str, str]:
        """By name, the version of each slice in the API server's storage."""
        return {one["metadata"]["name"]: one["metadata"]["resourceVersion"]
                for one in self.node.api.items(f"/apis/resource.k8s.io/{self.version}/resourceslices")}


class FromClaimToPod:
    """For each version; not a case by itself."""

    def test_from_claim_to_running_pod(self):
        claims = f"/apis/resource.k8s.io/{self.version}/namespaces/default/resourceclaims"
        given = self.example()
        began = time.monotonic()
        self.node.kubectl("apply", "-f", "-", given=given)
        self.addCleanup(self.node.kubectl, "delete", "-f", "-", "--ignore-not-found", given=given)
        self.pods.wait_running("dra-look")
        self.measure(f"{self.version}: a pod with a claim runs with its device {time.monotonic() - began:.1f} s after it was made")
        self.assertEqual(self.pods.shows("dra-look"), ["12", "vfio"])
        self.assertIn("/dev/vfio/12", self.witness.holders())
        wait_for("the claim's status says so", lambda: self.conditions(claims) == [("Ready", "True")], seconds=20)
        self.pods.end("dra-look")
        self.assertEqual(self.spoken(), {self.version})
        self.assertEqual(self.installation.status()["dra"]["apiVersion"], self.version)
        said = [line for line in self.installation.logs("netd-dra").splitlines() if "event=api_version" in line]
        self.assertEqual(len(said), 1, said)
        self.assertIn(f"version=resource.k8s.io/{self.version}", said[0].split())

    def test_counters_and_taints_are_kept(self):
        found = self.published()
        self.assertTrue(all(device.get("consumesCounters") for device in found.values()), found)
        self.assertTrue(self.tainted("0000-02-00-0"))
        self.assertFalse(self.tainted(CARD))

    def conditions(self, claims: str) -> list[tuple[str, str]]:
        devices = [device for claim in self.node.api.items(claims) for device in claim["status"].get("devices", [])]
        return [(one["type"], one["status"]) for device in devices for one in device["conditions"]]

    def example(self) -> str:
        """deploy/examples/dra as it is, but for an image that the node has."""
        name = "pod-1.32.yaml" if self.version == "v1beta1" else "pod.yaml"
        documents = list(yaml.safe_load_all(as_version((EXAMPLES / name).read_text(), self.version)))
        for container in documents[1]["spec"]["containers"]:
            container |= {"image": IMAGE, "imagePullPolicy": "Never"}
        return "\n---\n".join(json.dumps(one) for one in documents)


class AsV1beta1(FromClaimToPod, HeldTo):
    version = "v1beta1"


class AsV1beta2(FromClaimToPod, HeldTo):
    version, long = "v1beta2", True


class Upgraded(HeldTo):
    """The API server is replaced while all runs."""

    version, long = "v1beta1", True

    def test_what_is_gone_is_followed_and_nothing_written(self):
        self.node.api.create("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", self.claim("vm"))
        self.pods.run(self.pod_with("vm", "vm"))
        before = self.stored()
        for version in ("v1beta2", "v1"):
            self.proxy.upgrade(version)
            began = time.monotonic()
            wait_for(f"it speaks {version}", lambda version=version: self.says(version), seconds=60)
            self.measure(f"{version} is spoken {time.monotonic() - began:.1f} s after the version before it was gone")
        self.assertEqual(self.stored(), before)
        self.pods.end("vm")
        self.pods.run(self.pod_with("again", "vm"))
        self.assertEqual(self.installation.restarts("netd-dra"), 0)

    def says(self, version: str) -> bool:
        return f"version=resource.k8s.io/{version}" in self.installation.logs("netd-dra").split()
