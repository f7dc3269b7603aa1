"""The chart and the overlays, by helm and kubectl: that both say the same, and what the chart refuses."""

import copy
import filecmp
import os
import pathlib
import tarfile
import tempfile

import yaml

import mutations
import rules
import tools
from chart_values import BINDING, COMPONENTS, CONFIG, REFUSED, SAID_BY_TEMPLATES, SELECT, TRICKY, VARIED
from sources import CHART, KUBERNETES, SAME, Case, base, comparable, differences, documents, of_kind, run


class Chart(Case):
    @classmethod
    def setUpClass(cls):
        try:
            cls.helm, cls.kubectl = tools.tools()
        except tools.Unavailable as reason:
            cls.skipTest(cls, str(reason))

    def template(self, *options, values: str = ""):
        """helm's answer for these values."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(values)
            file.flush()
            return run(
                self.helm, "template", "vfiogate", CHART, "--namespace", "vfiogate", "--set", "namespace.create=true",
                "--values", file.name, *options,
            )

    def printed(self, *options, values: str = "") -> list[dict]:
        done = self.template(*options, values=values)
        self.assertEqual(done.returncode, 0, done.stderr)
        return documents(done.stdout)

    def built(self, directory: pathlib.Path) -> list[dict]:
        done = run(self.kubectl, "kustomize", directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        return documents(done.stdout)

    def test_helm_finds_no_fault(self):
        for values in [[], *(["--values", CHART / f"examples/{name}.yaml"] for name in SAME)]:
            done = run(self.helm, "lint", "--strict", CHART, *values)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_alerts_and_dashboard_are_those_of_their_files(self):
        values = "metrics: {monitor: pod, rules: {enabled: true, labels: {release: x}}, dashboard: {enabled: true}}"
        found = self.printed(values=values)
        (rule,), (monitor,) = of_kind("PrometheusRule", found), of_kind("PodMonitor", found)
        self.assertEqual(rule["spec"], yaml.safe_load((CHART / "monitoring/rules.yaml").read_text()))
        self.assertEqual(rule["metadata"]["labels"]["release"], "x")
        (node,) = monitor["spec"]["podMetricsEndpoints"][0]["relabelings"]
        self.assertEqual(node, {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"})
        (dashboard,) = [one for one in of_kind("ConfigMap", found) if "grafana_dashboard" in one["metadata"]["labels"]]
        self.assertEqual(dashboard["data"]["vfiogate.json"].strip(), (CHART / "monitoring/dashboard.json").read_text().strip())
        (rule,) = of_kind("PrometheusRule", self.printed(values="metrics: {rules: {enabled: true, runbooks: https://example.com/x}}"))
        for alert in rule["spec"]["groups"][0]["rules"]:
            self.assertRegex(alert["annotations"]["runbook_url"], "^https://example.com/x#vfiogate[a-z]+$")
        self.assertEqual([one["kind"] for one in self.printed() if one["kind"] in ("PrometheusRule", "PodMonitor")], [])

    def test_a_packed_chart_says_of_which_commit_it_is(self):
        with tempfile.TemporaryDirectory() as place:
            files = []
            for name in ("one", "other"):
                (pathlib.Path(place) / name).mkdir()
                done = run(CHART.parent / "package_chart.py", "--out", f"{place}/{name}")
                self.assertEqual(done.returncode, 0, done.stderr)
                files += (pathlib.Path(place) / name).iterdir()
            self.assertEqual(files[0].read_bytes(), files[1].read_bytes())
            with tarfile.open(files[0]) as tar:
                runnable = [one.name for one in tar if one.mode & 0o100]
            self.assertEqual(runnable, ["vfiogate/plugin/kubectl-vfiogate", "vfiogate/plugin/kubectl_complete-vfiogate"])
            commit = done.stdout.split()[-1]
            self.assertRegex(commit, "^([0-9a-f]{40}(-dirty)?|unknown)$")
            done = run(self.helm, "template", "vfiogate", files[0], "--namespace", "vfiogate")
            self.assertEqual(done.returncode, 0, done.stderr)
            (found,) = of_kind("DaemonSet", documents(done.stdout))
            self.assertEqual(found["metadata"]["annotations"]["vfiogate.dev/commit"], commit)
            self.assertEqual(found["metadata"]["labels"]["app.kubernetes.io/version"], files[0].stem.removeprefix("vfiogate-"))

    def test_the_base_is_what_the_chart_prints(self):
        with tempfile.TemporaryDirectory() as place:
            done = run(KUBERNETES / "render.sh", self.helm, place)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in ("base/common", "base/node-class", "components/dra"):
                file = f"{name}/manifests.yaml"
                same = filecmp.cmp(pathlib.Path(place) / file, KUBERNETES / file, shallow=False)
                self.assertTrue(same, f"{file} is not what the chart prints: run deploy/kubernetes/render.sh")
        self.assert_same(self.printed(), base())
        self.assert_same(self.built(KUBERNETES / "base"), base())

    def test_each_overlay_says_what_the_chart_says(self):
        for name in SAME:
            with self.subTest(name):
                overlay = self.built(KUBERNETES / "overlays" / name)
                self.assertNotEqual(comparable(overlay), comparable(base()))
                self.assert_same(overlay, self.printed("--values", CHART / f"examples/{name}.yaml"))
                self.assert_sound(overlay, cdi=name in ("cdi", "dra"), binding=name == "on-allocate", dra=name == "dra")

    def test_each_component_says_what_its_value_says(self):
        for components, values, settings in COMPONENTS:
            with self.subTest(components), tempfile.TemporaryDirectory() as place:
                # kubectl takes no absolute paths.
                base_there = os.path.relpath(KUBERNETES / "base", place)
                there = [os.path.relpath(KUBERNETES / "components" / name, place) for name in components]
                (pathlib.Path(place) / "kustomization.yaml").write_text(
                    f"resources: [{base_there}]\ncomponents: [{', '.join(there)}]\n"
                )
                built = self.built(place)
                # The driver's name in a configuration is the overlay's.
                self.assert_same(built, self.printed(values="\n".join(values)), configurations="dra" not in components)
                self.assert_sound(built, **settings)
        components = [path.name for path in (KUBERNETES / "components").iterdir()]
        self.assertEqual(sorted(components), sorted({name for names, _, _ in COMPONENTS for name in names}))

    def test_each_breach_with_a_driver_is_seen_by_its_name(self):
        (sound,) = of_kind("DaemonSet", self.printed("--values", CHART / "examples/dra.yaml"))
        self.assertEqual(rules.broken(sound, cdi=True, dra=True), [])
        self.assertEqual(rules.broken(sound, cdi=True), ["containers: not privd-hardware, privd-gate, plugind, netd"])
        for rule, what, mutate in mutations.DRA_MUTATIONS:
            with self.subTest(rule=rule, what=what):
                worse = copy.deepcopy(sound)
                mutate(worse)
                self.assertEqual({line.split(":")[0] for line in rules.broken(worse, cdi=True, dra=True)}, {rule})

    def test_each_breach_with_binding_is_seen_by_its_name(self):
        (sound,) = of_kind("DaemonSet", self.printed(values=BINDING))
        self.assertEqual(rules.broken(sound, binding=True), [])
        for rule, what, mutate in mutations.BINDING_MUTATIONS:
            with self.subTest(rule=rule, what=what):
                worse = copy.deepcopy(sound)
                mutate(worse)
                self.assertEqual({line.split(":")[0] for line in rules.broken(worse, binding=True)}, {rule})

    def test_without_binding_nothing_in_the_pod_can_write_sysfs(self):
        for values in ("", "cdi: {enabled: true}\ndra: {enabled: true}\nmodules: init"):
            (daemon_set,) = of_kind("DaemonSet", self.printed(values=values))
            pod = daemon_set["spec"]["template"]["spec"]
            mounts = [m for c in pod["containers"] + pod.get("initContainers", []) for m in c["volumeMounts"] if m["name"] == "sys"]
            self.assertEqual([m.get("readOnly") for m in mounts], [True])
            self.assertNotIn("privd-binder", [c["name"] for c in pod["containers"]])

    def test_each_of_privds_containers_has_an_apparmor_profile_of_its_own_where_values_choose_them(self):
        (daemon_set,) = of_kind("DaemonSet", self.printed(values=BINDING + "\nprivd: {appArmor: {profile: Localhost}}"))
        named = {c["name"]: c["securityContext"].get("appArmorProfile") for c in daemon_set["spec"]["template"]["spec"]["containers"]}
        wanted = {f"privd-{role}": {"type": "Localhost", "localhostProfile": f"vfiogate-{role}"} for role in ("hardware", "gate", "binder")}
        self.assertEqual(named, wanted | {"plugind": None, "netd": None})
        for profile in wanted.values():
            self.assertTrue((CHART.parents[1] / "apparmor" / profile["localhostProfile"]).is_file())

    def test_an_image_is_named_by_its_digest_where_there_is_one(self):
        ours, modules = "sha256:" + "1" * 64, "sha256:" + "2" * 64
        values = f"modules: init\nimage: {{repository: r.example/a, digest: '{ours}'}}\nmodulesImage: {{repository: r.example/m, digest: '{modules}'}}"
        for given, want in ((values, {f"r.example/a@{ours}", f"r.example/m@{modules}"}),
                            ("modules: init", {"localhost/vfiogate:dev", "localhost/vfiogate-modules:dev"})):
            (daemon_set,) = of_kind("DaemonSet", self.printed(values=given))
            pod = daemon_set["spec"]["template"]["spec"]
            self.assertEqual({c["image"] for c in pod["containers"]} | {c["image"] for c in pod["initContainers"]}, want)
            self.assertRegex(pod["initContainers"][0]["image"], "/m@|-modules:")

    def test_another_driver_and_directory_stand_everywhere(self):
        values = "cdi: {enabled: true}\ndra: {enabled: true, driver: gate.example.com}\nkubeletDirectory: /data/kubelet"
        done = self.template(values=values)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("vfio.vfiogate.dev", done.stdout)
        # The kubelet's --root-dir moves all but the one directory, which is at its own path on the host alone.
        self.assertEqual(done.stdout.count("/var/lib/kubelet"), 1)
        self.assertIn("hostPath: {path: /var/lib/kubelet/device-plugins, type: Directory}", done.stdout)
        self.assertIn("mountPath: /data/kubelet/device-plugins}", done.stdout)
        self.assertNotIn("/var/lib/kubelet", self.template(values=values + "\ndevicePluginDirectory: /data/plugins").stdout)
        for said in ("--dra-driver=gate.example.com", "--kubelet-dir=/data/kubelet", "resourceNames: [gate.example.com]",
                     "mountPath: /data/kubelet/plugins/gate.example.com}", "path: /data/kubelet/plugins/gate.example.com,",
                     "driver: gate.example.com", '"gate.example.com"'):
            self.assertIn(said, done.stdout)

    def test_only_netd_dra_has_somewhere_to_go(self):
        (closed,) = of_kind("NetworkPolicy", self.printed())
        self.assertNotIn("egress", closed["spec"])
        (opened,) = of_kind("NetworkPolicy", self.printed("--values", CHART / "examples/dra.yaml"))
        ports = [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]
        self.assertEqual(opened["spec"]["egress"], [{"ports": ports}])

    def test_each_breach_by_what_loads_modules_is_seen_by_its_name(self):
        (sound,) = of_kind("DaemonSet", self.printed(values="modules: init"))
        self.assertEqual(rules.broken(sound, modules=True), [])
        self.assertEqual({line.split(":")[0] for line in rules.broken(sound)}, {"init", "volumes"})
        for rule, what, mutate in mutations.MODULES_MUTATIONS:
            with self.subTest(rule=rule, what=what):
                worse = copy.deepcopy(sound)
                mutate(worse)
                self.assertEqual({line.split(":")[0] for line in rules.broken(worse, modules=True)}, {rule})

    def test_a_difference_is_seen(self):
        one, other = self.printed(), self.printed("--set", "privd.hardwareUid=64530", "--set", "kubeletDirectory=/data/kubelet")
        seen = [line.split("containers")[1] for line in differences(comparable(one), comparable(other)) if "containers" in line]
        self.assertIn("[0].securityContext.runAsUser: 64531, 64530", seen)
        self.assertTrue(any(line.startswith("[1].volumeMounts[3].mountPath: ") for line in seen), seen)

    def test_node_classes_have_a_pod_and_a_configuration_each(self):
        found = self.printed("--values", CHART / "examples/node-classes.yaml")
        names = [d["metadata"]["name"] for d in of_kind("ConfigMap", found)]
        self.assertEqual(names, ["vfiogate-graphics", "vfiogate-network"])
        chosen = [str(d["spec"]["selector"]["matchLabels"]) for d in of_kind("DaemonSet", found)]
        self.assertEqual(len(set(chosen)), 2)

    def test_other_values_keep_the_rules(self):
        for values, settings in VARIED:
            with self.subTest(values):
                found = self.printed(values=values)
                self.assertNotEqual(comparable(found), comparable(base()))
                self.assert_sound(found, **settings)

    def test_what_is_wrong_is_refused_and_named(self):
        for values, said in REFUSED:
            with self.subTest(values):
                done = self.template(values=values)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr)

    def test_templates_say_quote_it_where_the_schema_is_skipped(self):
        for values, said in SAID_BY_TEMPLATES:
            with self.subTest(values):
                done = self.template("--skip-schema-validation", values=values)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr)

    def test_ids_arrive_at_plugind_as_they_were_written(self):
        values = SELECT.format("{vendor: '1e07', device: %s, class: ['03', '0e']}" % TRICKY)
        (config,) = of_kind("ConfigMap", self.printed(values=values))
        text = config["data"]["plugind.yaml"]
        self.assertEqual(yaml.safe_load(text)["resources"][0]["select"]["device"], TRICKY)
        if not (self.programs / "plugind").exists():
            self.skipTest(f"no programs in {self.programs}")
        (resource,) = yaml.safe_load(self.checked("tricky", text))["resources"]
        self.assertEqual(sorted(resource["select"]["device"]), sorted(TRICKY))
        self.assertEqual(resource["select"]["vendor"], ["1e07"])

    def test_what_nobody_may_bind_is_told_to_the_processes_and_to_commands(self):
        policy = "deny: ['class=0108', '10de:2236'], allowStorage: true, allowUnguardedUnbind: true"
        found = {}
        for words in (f"binding: {{enabled: true, {policy}}}", f"binding: {{enabled: false, {policy}}}"):
            made = self.printed(values=words)
            (config,), (daemon_set,) = of_kind("ConfigMap", made), of_kind("DaemonSet", made)
            template = daemon_set["spec"]["template"]
            for container in template["spec"]["containers"]:
                given = "--options=/etc/vfiogate/privd.conf" in container["args"]
                self.assertEqual(given, container["name"].startswith("privd-"), container["name"])
            found[config["data"]["privd.conf"]] = template["metadata"]["annotations"]["vfiogate.dev/privd-options"]
        places = "sysfs /host/sys\ndev /host/dev\n"
        self.assertEqual(list(found), [places + "deny class=0108\ndeny 10de:2236\nallow-storage\nallow-unguarded-unbind\n", places])
        # They read their options once: with others the pod is made anew.
        self.assertEqual(len(set(found.values())), 2)

    def test_the_gate_may_serve_the_prefixes_that_are_named_and_no_others(self):
        values = CONFIG.format(
            "resourcePrefix: gpu.example, aliases: {'10de:2236': nvidia.com/X},"
            " resources: [{name: intel.com/y, select: {class: '02'}}, {name: intel.com/z, select: {class: '03'}}]"
        )
        (daemon_set,) = of_kind("DaemonSet", self.printed(values=values))
        args = daemon_set["spec"]["template"]["spec"]["containers"][1]["args"]
        given = [arg for arg in args if arg.startswith("--resource-prefix")]
        self.assertEqual(given, [f"--resource-prefix={p}/" for p in ("gpu.example", "intel.com", "nvidia.com")])
