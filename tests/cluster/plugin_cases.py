"""`kubectl vfiogate`, found by kubectl in PATH, and the rights that it needs, on the node's API server."""

import json
import os
import pathlib
import subprocess

from hardware import TREE
from allocation_cases import CARD, CARD_ADDRESS, OnOneNode
from pods import pod_of

PLUGIN = TREE / "deploy/helm/vfiogate/plugin"
SOMEBODY = "system:serviceaccount:default:default"
# As the plugin's help names them.
RIGHTS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: asks-vfiogate, namespace: vfiogate}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
- {apiGroups: [""], resources: [pods/exec], verbs: [create, get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: asks-vfiogate, namespace: vfiogate}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: asks-vfiogate}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
"""


class Plugin(OnOneNode):
    def ask(self, *words: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PATH": f"{PLUGIN}:{os.environ['PATH']}"}
        return subprocess.run(["kubectl", "vfiogate", *words], env=environment, capture_output=True, text=True, timeout=120)

    def lines(self, *words: str) -> list[str]:
        done = self.ask(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), f"{words}: {done.stdout}")
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    def assert_has(self, lines: list[str], pattern: str) -> None:
        self.assertRegex("\n".join(lines), f"(?m)^{pattern}$")

    def test_each_command_on_the_node(self):
        self.pods.run(pod_of("vm", {CARD: 1}))
        holder = r"default/vm ref=\w+"
        self.assert_has(self.lines("status"), rf"node {CARD} {CARD_ADDRESS} 12 healthy allocated \d\d:\d\d:\d\d {holder} offered")
        self.assert_has(self.lines("who-has", "01:00.1"), rf"node {CARD_ADDRESS} 12 {holder} {CARD} allocated \d\d:\d\d:\d\d")
        self.assert_has(self.lines("explain", "01:00.0", "--node", "node"), f"node: {CARD_ADDRESS}: offered")
        self.assert_has(self.lines("list"), f"node 12 {CARD_ADDRESS} 10de:2684 NVIDIA .* vfio-pci (passable|in-use) -")
        [node] = json.loads(self.ask("status", "-o", "json").stdout)["nodes"]
        self.assertEqual(node["node"], "node")
        doctor = self.ask("doctor", "--all")
        self.assertIn(doctor.returncode, (0, 1), doctor.stderr)
        self.assertIn("node: ", doctor.stdout)
        print(self.ask("status").stdout, doctor.stdout, sep="", flush=True)

    def test_privd_in_the_container_of_hardware_knows_the_hosts_places(self):
        """By /etc/vfiogate/privd.conf: without it there would be no /sys/bus/pci/devices of this hardware."""
        for command in (["list"], ["show", CARD_ADDRESS], ["doctor"]):
            words = ["kubectl", "exec", "-n", "vfiogate", self.installation.name(), "-c", "privd-hardware", "--", "privd", *command, "-o", "json"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60)
            self.assertIn(CARD_ADDRESS if command != ["doctor"] else "/host/sys", done.stdout, f"{command}: {done.stderr}")

    def test_rights(self):
        """Refused with the rights that are needed, and with these alone it works."""
        refused = self.ask("status", "--as", SOMEBODY)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("needed in namespace vfiogate: pods get, list", refused.stderr)
        rights = self.somewhere("rights.yaml")
        listing = RIGHTS.replace("pods/exec", "pods/log")
        for text, code in ((listing, 1), (RIGHTS, 0)):
            pathlib.Path(rights).write_text(text)
            self.node.kubectl("apply", "-f", rights)
            self.addCleanup(self.node.kubectl, "delete", "-f", rights, "--ignore-not-found")
            done = self.ask("status", "--as", SOMEBODY)
            self.assertEqual(done.returncode, code, done.stderr)
            if code:
                self.assertIn("needed in namespace vfiogate: pods get; pods/exec create, get", done.stderr)
