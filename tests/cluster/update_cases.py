"""What is changed while it runs: a rolling update with pods on their devices, a configuration, a second node class on the node."""

import time

import manifests
from api_client import Refused
from case import Case
from hardware import topology
from installation import NAMESPACE, PODS
from allocation_cases import CARD, OTHER_SLOT, SLOT, SLOT_ADDRESS, OnOneNode
from pods import pod_of
from waiting import wait_for

CONFIG = f"/api/v1/namespaces/{NAMESPACE}/configmaps/vfiogate-default"


class Update(OnOneNode):
    long = True

    def test_rolling_update_with_pods(self):
        """By the DaemonSet's controller: the old pod ends before the new one starts; machines run on."""
        self.pods.run(pod_of("vm", {SLOT: 1}))
        self.hardware.open(SLOT_ADDRESS)
        self.addCleanup(self.hardware.close, SLOT_ADDRESS)
        self.pods.run(pod_of("quiet", {CARD: 1}))
        before = {name: self.pods.find(name)["status"]["containerStatuses"][0]["containerID"] for name in ("vm", "quiet")}
        old, began = self.installation.name(), time.monotonic()
        self.node.kubectl("-n", NAMESPACE, "rollout", "restart", "daemonset")
        self.node.kubectl("-n", NAMESPACE, "rollout", "status", "daemonset", "--timeout=120s")
        self.measure(f"rolled out in {time.monotonic() - began:.1f} s with two pods on their devices")
        self.assertNotEqual(self.installation.name(), old)
        states = self.installation.group_states()
        self.assertEqual((states[SLOT_ADDRESS], states["0000:01:00.0"]), ("allocated", "allocated"))
        phase, words = self.pods.outcome(pod_of("sibling", {OTHER_SLOT: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        after = {name: self.pods.find(name)["status"]["containerStatuses"][0]["containerID"] for name in before}
        self.assertEqual(after, before)

    def test_configuration_reloads(self):
        """A changed ConfigMap takes effect without a restart; one with an error changes nothing."""
        text = self.node.api.get(CONFIG)["data"]["plugind.yaml"]
        before = {one: self.installation.container_status(one)["containerID"] for one in ("privd-hardware", "privd-gate", "plugind", "netd")}

        def configure(words: str) -> float:
            self.node.api.change(CONFIG, {"data": {"plugind.yaml": words}})
            return time.monotonic()

        self.addCleanup(configure, text)
        self.pods.run(pod_of("vm", {CARD: 1}))
        began = configure(text.replace("second-slot", "renamed-slot"))
        self.wait_offered("vfiogate.dev/renamed-slot", seconds=300)
        self.measure(f"a changed ConfigMap is in effect after {time.monotonic() - began:.1f} s")
        configure("resources: {}\n")
        wait_for("an error is refused", lambda: "event=config_refused" in self.installation.logs("plugind"), seconds=300, every=1)
        self.assertEqual(self.node.allocatable("vfiogate.dev/renamed-slot"), 1)
        after = {one: self.installation.container_status(one)["containerID"] for one in before}
        self.assertEqual(after, before)
        self.pods.wait_running("vm")
        configure(text)
        self.wait_offered(OTHER_SLOT, seconds=300)


class NodeClasses(Case):
    long = True

    def test_two_meet_on_one_node(self):
        """The second waits for the first, is not ready and says for whom; it takes over when the first is gone."""
        node = "/api/v1/nodes/node"
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        rescan = manifests.arguments("privd-hardware", "--rescan=1")
        self.node.api.change(node, {"metadata": {"labels": {"example.com/devices": "graphics"}}})
        self.addCleanup(self.node.api.change, node, {"metadata": {"labels": {"example.com/devices": None}}})
        patches = [*manifests.simulated(hardware, host_network=False), rescan, both_on("graphics"), both_on("network")]
        self.install(manifests.shipped("node-classes"), patches, keep=self.addCleanup)
        wait_for("two pods", lambda: len(self.node.api.items(PODS)) == 2, seconds=30)
        wait_for("the card is offered or nothing is", lambda: self.waiting() is not None, seconds=60)
        waiting = self.waiting()
        self.measure(f"the second says: {waiting[1]}")
        [other] = [pod["metadata"]["name"] for pod in self.node.api.items(PODS) if pod["metadata"]["name"] != waiting[0]]
        self.assertFalse(self.is_ready(waiting[0]))
        self.node.kubectl("-n", NAMESPACE, "delete", "daemonset", other.rpartition("-")[0])
        began = time.monotonic()
        wait_for("the second is ready", lambda: self.is_ready(waiting[0]), seconds=90, every=0.5)
        self.measure(f"the second is Ready {time.monotonic() - began:.1f} s after the first's DaemonSet was deleted")

    def waiting(self) -> tuple[str, str] | None:
        for pod in self.node.api.items(PODS):
            name = pod["metadata"]["name"]
            try:
                log = self.node.api.ask("GET", f"{PODS}/{name}/log?container=privd-gate")["message"]
            except Refused:
                continue
            lines = [line for line in log.splitlines() if "event=instance_waits" in line]
            if lines:
                return name, lines[-1]
        return None

    def is_ready(self, name: str) -> bool:
        pod = self.node.api.get(f"{PODS}/{name}")
        return all(one["ready"] for one in pod["status"].get("containerStatuses", [{"ready": False}]))


def both_on(which: str) -> dict:
    """The selector of a node class without its label: so both match the node."""
    change = f"""[{{"op": "remove", "path": "/spec/template/spec/nodeSelector/example.com~1devices"}}]"""
    return {"target": {"kind": "DaemonSet", "name": f"vfiogate-{which}"}, "patch": change}
