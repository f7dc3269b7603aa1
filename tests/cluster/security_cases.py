"""What the cluster may ask of the pod: seccomp as the runtime's default, as our own profiles and without any; Pod Security levels.
And which sockets its containers reach."""

import json
import pathlib
import re
import shutil
import sys

import manifests
from api_client import Refused
from case import Case
from hardware import TREE, topology
from pods import PODS, pod_of
from waiting import wait_for

CARD = "vfiogate.dev/10de_2684"
PROFILES = pathlib.Path("/var/lib/kubelet/seccomp")
LEVEL = "pod-security.kubernetes.io/enforce"
PLUGIND, KUBELET, POD_RESOURCES = (
    "/run/vfiogate/plugind/plugind.sock", "/var/lib/kubelet/device-plugins/kubelet.sock", "/var/lib/kubelet/pod-resources/kubelet.sock")
# docs/security/threat-model.md: all that listens where the containers' mounts lead to. Ours for the kubelet are the gate's, too.
REACHED = {name: {PLUGIND} for name in ("privd-hardware", "privd-binder", "plugind", "netd", "netd-dra")}
REACHED["privd-gate"] = {PLUGIND, KUBELET, POD_RESOURCES}
OURS = re.compile(r"/var/lib/kubelet/(device-plugins|plugins_registry|plugins/vfio\.vfiogate\.dev)/(?!kubelet\.sock)[^/]+\.sock")


class Seccomp(Case):
    long = True

    def allocates(self, patches: list[dict], components: list[str] = ()):
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        installation = self.install(manifests.shipped("kubevirt"), [*manifests.simulated(hardware), *patches], components, keep=self.addCleanup)
        wait_for("a card is offered", lambda: self.node.allocatable(CARD) == 1, seconds=60)
        self.pods.run(pod_of("vm", {CARD: 1}))
        for container in ("privd-hardware", "privd-gate", "plugind", "netd"):
            self.assertEqual(installation.restarts(container), 0, container)
        return installation

    def filters(self, installation) -> dict[str, int]:
        """How many filters lie on each program: its own among them."""
        found = {}
        for container in ("privd-hardware", "privd-gate", "plugind", "netd"):
            text = pathlib.Path(f"/proc/{installation.process_of(container)}/status").read_text()
            found[container] = int(text.partition("Seccomp_filters:")[2].split()[0])
        return found

    def test_runtime_default(self):
        found = self.filters(self.allocates([]))
        self.measure(f"RuntimeDefault: {found}")
        self.assertTrue(all(count >= 2 for count in found.values()), found)

    def test_our_own_profiles(self):
        self.node.run(TREE / "deploy/seccomp/render.sh", self.programs, PROFILES / "vfiogate")
        self.addCleanup(shutil.rmtree, PROFILES)
        found = self.filters(self.allocates([], ["seccomp"]))
        self.measure(f"Localhost: {found}")
        self.assertTrue(all(count >= 2 for count in found.values()), found)

    def test_unconfined(self):
        change = [{"op": "replace", "path": "/spec/template/spec/securityContext/seccompProfile", "value": {"type": "Unconfined"}}]
        found = self.filters(self.allocates([{"target": {"kind": "DaemonSet"}, "patch": json.dumps(change)}]))
        self.measure(f"Unconfined: {found}")
        self.assertTrue(all(count >= 1 for count in found.values()), found)


class PodSecurity(Case):
    long = True

    def test_levels(self):
        """The namespace's level is privileged; all containers but privd's would pass restricted."""
        [daemon_set] = [one for one in manifests.documents("base") if one["kind"] == "DaemonSet"]
        for level, wanted in (("privileged", True), ("baseline", False), ("restricted", False)):
            with self.subTest(level):
                self.assertEqual(self.admits(level, daemon_set["spec"]["template"]["spec"]), wanted)
        alone = daemon_set["spec"]["template"]["spec"]
        alone["containers"] = [one for one in alone["containers"] if not one["name"].startswith("privd-")]
        alone["initContainers"] = [one for one in alone["initContainers"] if one["name"] != "self-test-privd"]
        alone["volumes"] = [one for one in alone["volumes"] if "hostPath" not in one]
        self.assertTrue(self.admits("restricted", alone, "others"), "the others would pass restricted")

    def admits(self, level: str, spec: dict, which: str = "all") -> bool:
        name = f"level-{level}-{which}"
        self.node.api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": {LEVEL: level}}})
        self.addCleanup(self.node.api.delete, f"/api/v1/namespaces/{name}")
        pods = PODS.replace("default", name) + "?dryRun=All"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "vfiogate"}}
        try:
            self.node.api.create(f"/api/v1/namespaces/{name}/serviceaccounts", account)
            self.node.api.create(pods, {"metadata": {"name": "vfiogate"}, "spec": spec})
            return True
        except Refused as answer:
            if answer.code != 403:
                raise
            self.measure(f"{level}: {answer}"[:600])
            return False


class Sockets(Case):
    """A process of ours that is taken over can connect to nothing beside what it is there for: no runtime, no bus of the host's."""

    long = True

    def reached(self, installation, container: str) -> dict[str, str]:
        program = pathlib.Path(__file__).with_name("reached_sockets.py")
        return json.loads(self.node.run(sys.executable, program, installation.process_of(container)))

    def bring_up(self, overlay: str, hardware, *patches: dict):
        """With a network namespace of its own, as shipped: in the node's there would be its abstract names."""
        all_patches = [*manifests.simulated(hardware, host_network=False), *patches]
        installation = self.install(manifests.shipped(overlay), all_patches, keep=self.addCleanup)
        installation.wait_ready(60)
        return installation

    def assert_reached(self, installation, *containers: str) -> None:
        for container in containers:
            with self.subTest(container):
                found = self.reached(installation, container)
                self.measure(f"{container}: {found}")
                ours = {name for name in found if container == "privd-gate" and OURS.fullmatch(name)}
                self.assertEqual(set(found) - ours, REACHED[container])
                self.assertEqual({found[name] for name in REACHED[container]}, {"connected"})

    def test_binding(self):
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        installation = self.bring_up("on-allocate", hardware)
        self.assert_reached(installation, "privd-hardware", "privd-gate", "privd-binder", "plugind", "netd")

    def test_claims(self):
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        installation = self.bring_up("dra", hardware)
        self.assert_reached(installation, "privd-hardware", "privd-gate", "plugind", "netd", "netd-dra")

    def test_one_mount_more_is_seen(self):
        """What the others find is all there is: with the host's /run the gate reaches the runtime, which gives whoever asks the node."""
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        change = [
            {"op": "add", "path": "/spec/template/spec/volumes/-", "value": {"name": "run", "hostPath": {"path": "/run"}}},
            {"op": "test", "path": "/spec/template/spec/containers/1/name", "value": "privd-gate"},
            {"op": "add", "path": "/spec/template/spec/containers/1/volumeMounts/-", "value": {"name": "run", "mountPath": "/host/run"}},
        ]
        installation = self.bring_up("kubevirt", hardware, {"target": {"kind": "DaemonSet"}, "patch": json.dumps(change)})
        found = self.reached(installation, "privd-gate")
        self.assertEqual(found.get("/host/run/containerd/containerd.sock"), "connected", found)
        self.assertLessEqual(REACHED["privd-gate"], set(found))
