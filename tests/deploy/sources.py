"""Where the manifests are, how they are read, and what holds of all of them."""

import copy
import pathlib
import subprocess
import tempfile
import unittest

import yaml

import grants
import kinds
import rules

TREE = pathlib.Path(__file__).resolve().parents[2]
CHART = TREE / "deploy/helm/vfiogate"
KUBERNETES = TREE / "deploy/kubernetes"
SAME = ["kubevirt", "nvidia-names", "cdi", "node-classes", "on-allocate", "dra"]  # overlay and example of values


def documents(text: str) -> list[dict]:
    return [document for document in yaml.safe_load_all(text) if document]


def of_kind(kind: str, found: list[dict]) -> list[dict]:
    return [document for document in found if document["kind"] == kind]


def base() -> list[dict]:
    files = (KUBERNETES / f"base/{name}/manifests.yaml" for name in ("common", "node-class"))
    return [document for file in files for document in documents(file.read_text())]


def comparable(found: list[dict], configurations: bool = True) -> dict:
    """By kind and name; a configuration by what it says, not by how it is written, or not at all; mounts and volumes in
    any order."""
    result = {}
    for document in copy.deepcopy(found):
        if document["kind"] == "ConfigMap" and configurations:
            document["data"] = {name: yaml.safe_load(text) for name, text in document["data"].items()}
        elif document["kind"] == "ConfigMap":
            document["data"] = {}
        if document["kind"] == "DaemonSet":
            pod = document["spec"]["template"]["spec"]
            pod["volumes"].sort(key=lambda volume: volume["name"])
            for container in pod["containers"]:
                container["volumeMounts"].sort(key=lambda mount: mount["mountPath"])
        key = (document["kind"], document["metadata"].get("namespace"), document["metadata"]["name"])
        assert key not in result, f"twice: {key}"
        result[key] = document
    return result


def differences(left, right, where: str = "") -> list[str]:
    """The places at which two values differ, and how."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [
            line
            for key in sorted(left.keys() | right.keys(), key=str)
            for line in differences(left.get(key), right.get(key), f"{where}.{key}")
        ]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [line for i in range(len(left)) for line in differences(left[i], right[i], f"{where}[{i}]")]
    return [] if left == right else [f"{where}: {left!r}, {right!r}"]


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


class Case(unittest.TestCase):
    maxDiff = None
    programs = pathlib.Path()

    def assert_same(self, left: list[dict], right: list[dict], configurations: bool = True):
        self.assertEqual(differences(comparable(left, configurations), comparable(right, configurations)), [])

    def assert_sound(self, found: list[dict], policies: bool = True, **settings):
        for document in found:
            self.assertEqual(kinds.faults_of(document), [])
        for daemon_set in of_kind("DaemonSet", found):
            self.assertEqual(rules.broken(daemon_set, **settings), [])
        self.assertEqual(grants.broken(found, settings.get("dra", False), policies), [])
        for account in of_kind("ServiceAccount", found):
            self.assertIs(account["automountServiceAccountToken"], False)

    def checked(self, name: str, text: str) -> str:
        """plugind's view of a configuration, which it has to take."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            done = run(self.programs / "plugind", "--check-config", "--config", file.name)
        self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
        return done.stdout
