#!/usr/bin/env python3
"""The pod of deploy/kubernetes, run in the image's root as its manifest says, on a simulated node with the stand-in
kubelet. Needs root and /dev/fuse. Exit 77: it cannot be run here."""

import copy
import errno
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import pod_seccomp
import pod_sources
import process_facts
from patience import await_that
from pod_case import CARD, Case, holders, mounted, standing
from pod_manifest import ManifestError, pod_of
from running_pod import RunningPod
from simulated_node import SimulatedNode
from unpacked_image import UnpackedImage

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402

VARIABLE = "PCI_RESOURCE_VFIOGATE_DEV_10DE_2684"
APART = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc", "--uts", "--cgroup"]
INSIDE = "VFIOGATE_POD_TEST_INSIDE"


def setUpModule():
    [daemon_set] = pod_sources.of_kind("DaemonSet", pod_sources.base())
    [reference] = {container.image for container in pod_of(daemon_set).containers.values()}
    Case.image = UnpackedImage(Case.programs, reference, Case.root)


class ComesUp(Case):
    def test_a_pod_is_given_its_card_and_the_probes_turn_good(self):
        node, pod = self.stack()
        granted = self.assert_admitted(node, "vm-1")
        self.assertIn(f"{CARD} 0000:01:00.0, /dev/vfio/vfio, /dev/vfio/12, {VARIABLE}=0000:01:00.0", granted)
        self.assertEqual(sorted(pod.probes("readiness")), ["netd", "plugind"])
        self.assertEqual(sorted(pod.probes("liveness")), ["netd", "plugind"])
        await_that("ready", pod.is_ready)
        self.assertEqual(pod.failing("liveness"), [])

    def test_under_podmans_default_profile_instead_of_dockers(self):
        self.runtime = "Podman"
        node, pod = self.stack()
        self.assert_admitted(node, "vm-1")
        await_that("they answer", lambda: not pod.failing("liveness"))
        self.assertEqual({code for code, _ in pod.end().values()}, {0})

    def test_metrics_are_scraped_from_the_node(self):
        node, pod = self.stack()
        self.assert_admitted(node, "vm-1")
        code, text = pod.get(pod.probes("readiness")["netd"].port, "/metrics")
        self.assertEqual(code, 200)
        self.assertIn(f'vfiogate_resource_registered{{resource="{CARD}"}} 1', text)
        self.assertIn('vfiogate_netd_plugind_questions_total{outcome="answered"} 1', text)

    def test_kernel_events_reach_privd_hardware_in_the_pod(self):
        node, pod = self.stack()
        await_that("one card is offered", lambda: node.allocatable().get(CARD) == 1)
        node.change_hardware("bind", "0000:02:00.0", "vfio-pci")
        await_that("the second is, long before its next reread without a hint", lambda: node.allocatable().get(CARD) == 2)

    def test_a_quiet_node_gets_ready_and_a_second_pod_waits_until_the_first_is_gone(self):
        node, first = self.stack()
        await_that("the first is registered", lambda: node.allocatable().get(CARD))
        second = self.pod(node, self.sandbox(), pod_sources.configured("kubevirt"))
        await_that("the second waits", lambda: "event=instance_waits" in second.said("privd-gate"))
        self.assertEqual(second.failing("liveness"), [])
        await_that("the first is ready", first.is_ready, seconds=60)
        self.assertEqual(sorted(second.failing("readiness")), ["netd", "plugind"])
        first.end()
        self.assert_admitted(node, "vm-1")
        await_that("the second is ready", second.is_ready)


class Configuration(Case):
    def test_a_changed_config_map_takes_effect_without_a_restart(self):
        node, pod = self.stack(pod_sources.base())
        pids = {name: container.pid for name, container in pod.running.items()}
        await_that("it answers", lambda: not pod.failing("liveness"))
        self.assertEqual(node.allocatable(), {})
        [(name, data)] = pod_sources.config_maps(pod_sources.configured("kubevirt")).items()
        pod.volumes.change_config_map(name, data)
        await_that("the card is offered", lambda: node.allocatable().get(CARD) == 1)
        pod.volumes.change_config_map(name, {"plugind.yaml": "resources: {}\n"})
        await_that("an error is refused", lambda: "event=config_refused" in pod.said("plugind"))
        self.assertEqual(node.allocatable().get(CARD), 1)
        self.assertEqual({name: container.pid for name, container in pod.running.items()}, pids)


class Overlays(Case):
    """By kubectl: skipped where it cannot be had."""

    def test_cdi_specs_are_written_on_the_node(self):
        documents = self.kustomized("cdi")
        node, pod = self.stack(documents)
        resource = "vfiogate.dev/pci_10de_2684"
        self.assertIn(f"{resource}=0000:01:00.0", self.assert_admitted(node, "vm-1", resource))
        [spec] = (node.root / "var/run/cdi").iterdir()
        self.assertEqual(json.loads(spec.read_text())["kind"], resource)
        self.assert_mounts_as_said(pod, with_cdi=True)

    def test_every_overlay_comes_up(self):
        for overlay in ("nvidia-names", "node-classes"):
            documents = self.kustomized(overlay)
            for which in range(len(pod_sources.of_kind("DaemonSet", documents))):
                with self.subTest(overlay=overlay, which=which):
                    self.start_anew()
                    sandbox = self.sandbox()
                    node = self.node(sandbox)
                    pod = self.pod(node, sandbox, documents, which)
                    await_that("it answers", lambda: not pod.failing("liveness"))
                    self.assertEqual({code for code, _ in pod.end().values()}, {0})


class Ends(Case):
    ANSWER_WITHIN = 5  # seconds, the next, too; beside builds
    GONE_WITHIN = 2

    def test_each_container_comes_back_and_the_card_stays_held(self):
        # A plugind that has started anew asks the kubelet who has what before it allocates anything.
        cards = 5  # one for each container, and one more
        node, pod = self.stack(topology=self.cards(cards))
        self.assert_admitted(node, "vm-1")
        for name in pod.pod.containers:
            with self.subTest(name):
                held = holders(pod)
                pod.running[name].signal(signal.SIGKILL)
                pod.restart(name)
                await_that("its resource stands again", lambda: standing(pod) and node.allocatable() == {CARD: cards})
                self.assert_admitted(node, f"vm-after-{name}")
                await_that("ready again", pod.is_ready)
                now = holders(pod)
                self.assertEqual(now, dict.fromkeys(now, ["allocated"]))
                self.assertEqual(len(now), len(held) + 1)
                self.assertLess(held.keys(), now.keys())

    def test_told_to_end_all_are_gone_within_the_grace_and_leave_what_the_readme_says(self):
        node = self.node(self.sandbox())
        before = node.files()
        pod = self.pod(node, self.sandbox(), pod_sources.configured("kubevirt"))
        started = time.monotonic()
        # The first process of a container that has not asked for SIGTERM yet does not get it.
        await_that("all have started", lambda: not pod.failing("liveness"))
        answered = time.monotonic() - started
        self.assert_admitted(node, "vm-1")
        ends = pod.end()
        last = max(seconds for _, seconds in ends.values())
        print(f"they answered after {answered:.2f} s, and were gone {last:.3f} s after they were told to end", file=sys.stderr)
        self.assertEqual({name: code for name, (code, _) in ends.items()}, dict.fromkeys(ends, 0), ends)
        self.assertLess(answered, self.ANSWER_WITHIN)
        self.assertLess(last, self.GONE_WITHIN, ends)
        after = node.files()
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        of_the_kubelet = {"var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"}
        modes = {name: oct(after[name][0]) for name in changed - of_the_kubelet}
        socket = "var/lib/kubelet/device-plugins/vfiogate-f7ffbb832d632a20.sock"
        # Without a binder nothing is bound, declared or logged.
        locks = {"var/lib/vfiogate/gate.lock": "0o100600", "var/lib/vfiogate/plugind.lock": "0o100600"}
        kept = {"var/lib/vfiogate/holds": "0o40700"}
        # The pod runs on: its device is allocated, by whomever comes next, too.
        kept |= {f"run/vfiogate/devices/{name}": "0o100600" for name in ("complete", "0000:01:00.0", "0000:01:00.1")}
        made = dict.fromkeys(("var/lib/vfiogate", "run", "run/vfiogate", "run/vfiogate/devices"), "0o40755")
        self.assertEqual(modes, made | {socket: "0o140600"} | locks | kept)


class Confined(Case):
    def test_threads_have_no_power(self):
        node, pod = self.stack()
        # Each serves, so it has locked itself down.
        await_that("the card is offered", lambda: node.allocatable().get(CARD))
        await_that("netd and plugind answer", lambda: not pod.failing("liveness"))
        for name, container in pod.pod.containers.items():
            found = process_facts.threads(pod.running[name].pid)
            for thread in found:
                with self.subTest(name, thread=thread["Name"]):
                    self.assertEqual(thread["Uid"].split(), [str(container.uid)] * 4)
                    self.assertEqual(thread["Gid"].split(), [str(container.gid)] * 4)
                    self.assertLessEqual(set(thread["Groups"].split()), {str(container.gid)})
                    for which in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                        self.assertEqual(int(thread[which], 16), 0, which)
                    self.assertEqual((thread["NoNewPrivs"], thread["Seccomp"]), ("1", "2"))

    def test_the_profile_of_the_manifest_is_in_force_beside_the_programs_own_filters(self):
        for kind, others in (("RuntimeDefault", 1), ("Localhost", 1), ("Unconfined", 0)):
            with self.subTest(kind):
                self.start_anew()
                sandbox = self.sandbox()
                node = self.node(sandbox)
                pod = self.pod(node, sandbox, self.with_profiles(kind, node))
                await_that("they answer", lambda: not pod.failing("liveness"))
                filters = {name: process_facts.seccomp_filters(container.pid) for name, container in pod.running.items()}
                self.assertEqual(filters, dict.fromkeys(filters, 1 + others))
                status = pod.running["plugind"].exec(["/usr/bin/plugind", "status"])
                self.assertEqual(status.returncode, 0, status.stderr)

    def with_profiles(self, kind: str, node: SimulatedNode) -> list[dict]:
        """The base; for Localhost with files that the programs print, where the kubelet looks for them."""
        documents = copy.deepcopy(pod_sources.base())
        directory = node.kubelet_directory / "seccomp/vfiogate"
        directory.mkdir(parents=True)
        if kind == "Localhost":
            subprocess.run([pod_sources.TREE / "deploy/seccomp/render.sh", self.programs, directory], check=True)
        for container in pod_sources.of_kind("DaemonSet", documents)[0]["spec"]["template"]["spec"]["containers"]:
            name = container["name"]
            profile = {"type": kind}
            if kind == "Localhost":
                profile["localhostProfile"] = f"vfiogate/{name.removeprefix('privd-')}.json"
            container["securityContext"]["seccompProfile"] = profile
        return documents

    def test_mounts_are_those_of_the_readme(self):
        _, pod = self.stack()
        self.assert_mounts_as_said(pod)

    def test_what_is_read_only_cannot_be_written(self):
        _, pod = self.stack()
        for name, container in pod.running.items():
            root = pathlib.Path(f"/proc/{container.pid}/root")
            own = [path for (of, path), writable in mounted(pod).items() if of == name and not writable]
            for path in ["/", *own]:
                with self.subTest(name, path=path):
                    with self.assertRaises(OSError) as refused:
                        (root / path.lstrip("/") / "made").mkdir()
                    self.assertEqual(refused.exception.errno, errno.EROFS)

    def test_the_gate_sees_no_hardware_and_hardware_nothing_of_the_kubelets(self):
        _, pod = self.stack()
        for name, hidden in (("privd-gate", ("host", "var/run/cdi", "var/log/vfiogate")),
                             ("privd-hardware", ("var/lib/kubelet", "var/run/cdi", "var/lib/vfiogate", "var/log/vfiogate", "run/vfiogate/devices"))):
            root = pathlib.Path(f"/proc/{pod.running[name].pid}/root")
            for directory in hidden:
                self.assertEqual(list((root / directory).iterdir()), [], f"{name}: {directory}")
        writable = [path for (of, path), can in mounted(pod).items() if of == "privd-hardware" and can]
        self.assertEqual(writable, [])
        self.assertEqual([of for (of, path), can in mounted(pod).items() if path == "/host/sys" and can], [])

    def test_commands_work_in_the_container_that_has_what_they_need(self):
        node, pod = self.stack()
        await_that("the card is offered", lambda: node.allocatable().get(CARD))
        listed = pod.running["privd-hardware"].exec(["/usr/bin/privd", "list", "-o", "json"])
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("0000:01:00.0", listed.stdout)
        held = pod.running["privd-gate"].exec(["/usr/bin/privd", "hold", "0000:01:00.0", "--reason", "its fan is loud"])
        self.assertEqual(held.returncode, 0, held.stderr)
        self.assertIn("its fan is loud", pod.running["privd-gate"].exec(["/usr/bin/privd", "holds"]).stdout)
        await_that("it is not offered any more", lambda: not node.allocatable().get(CARD))
        self.assertEqual(pod.running["privd-gate"].exec(["/usr/bin/privd", "release", "0000:01:00.0"]).returncode, 0)
        await_that("it is offered again", lambda: node.allocatable().get(CARD))

    def test_netd_and_plugind_see_nothing_of_the_host(self):
        _, pod = self.stack()
        of_the_host = {volume.name for volume in pod.pod.volumes.values() if volume.kind == "hostPath"}
        for name in ("plugind", "netd"):
            self.assertEqual({m.volume for m in pod.pod.containers[name].mounts} & of_the_host, set())
            root = pathlib.Path(f"/proc/{pod.running[name].pid}/root")
            for directory in ("host", "var/lib/kubelet", "var/lib/vfiogate", "var/log/vfiogate", "run/vfiogate/devices"):
                self.assertEqual(list((root / directory).iterdir()), [], f"{name}: {directory}")


class Memory(Case):
    DEVICES, PODS, SCRAPES = int(os.environ.get("VFIOGATE_DEVICES", "256")), 50, 100

    @staticmethod
    def peaks(pod: RunningPod) -> dict[str, int]:
        return {name: process_facts.peak_memory(container.pid) for name, container in pod.running.items()}

    def test_it_stays_within_the_limits(self):
        _, quiet = self.stack()
        await_that("it answers", lambda: not quiet.failing("liveness"))
        rest = self.peaks(quiet)
        self.start_anew()
        node, pod = self.stack(topology=self.cards(self.DEVICES))
        await_that("all are offered", lambda: node.allocatable().get(CARD) == self.DEVICES, seconds=60)
        admitted = node.admit({f"vm-{i}": CARD for i in range(self.PODS)})
        self.assertEqual(admitted.returncode, 0, admitted.stdout + admitted.stderr)
        for i in range(self.PODS):
            self.assertEqual(node.ask_kubelet("start", f"vm-{i}", "compute").returncode, 0)
        await_that("plugind knows who has them", lambda: len(holders(pod)) == self.PODS)
        port = pod.probes("readiness")["netd"].port
        for _ in range(self.SCRAPES):
            self.assertEqual(pod.get(port, "/metrics")[0], 200)
        for name, peak in self.peaks(pod).items():
            limit = pod.pod.containers[name].memory
            print(f"{name}: at most {rest[name]} KiB at rest, {peak} KiB under load, limit {limit >> 10} KiB", file=sys.stderr)
            self.assertLess(peak << 10, limit, name)


class Manifests(Case):
    """What is not known is not left out."""

    def pod_with(self, change):
        documents = copy.deepcopy(pod_sources.base())
        [daemon_set] = pod_sources.of_kind("DaemonSet", documents)
        change(daemon_set["spec"]["template"]["spec"])
        return pod_of(daemon_set)

    def test_a_field_that_is_not_known_is_an_error(self):
        changes = {
            "know how|hostNetwork": lambda pod: pod.update(hostNetwork=True),
            "initContainers.0..*sleep": lambda pod: pod["initContainers"][0].update(sleep=1),
            "privileged": lambda pod: pod["containers"][0]["securityContext"].update(privileged=True),
            "add": lambda pod: pod["containers"][0]["securityContext"]["capabilities"].update(add=["SYS_ADMIN"]),
            "env": lambda pod: pod["containers"][2].update(env=[{"name": "A", "value": "B"}]),
            "subPath": lambda pod: pod["containers"][2]["volumeMounts"][0].update(subPath="x"),
            "no volume other": lambda pod: pod["containers"][2]["volumeMounts"][0].update(name="other"),
            "nfs": lambda pod: pod["volumes"].append({"name": "far", "nfs": {"server": "a", "path": "/"}}),
            "token": lambda pod: pod.update(automountServiceAccountToken=True),
            "fsGroup": lambda pod: pod["securityContext"].update(fsGroup=1),
            "runAsUser is 0": lambda pod: pod["containers"][2]["securityContext"].update(runAsUser=0),
            "no seccomp profile": lambda pod: pod["securityContext"].update(seccompProfile={"type": "Localhost"}),
            "no port 'other'": lambda pod: pod["containers"][3]["readinessProbe"]["httpGet"].update(port="other"),
        }
        self.assertEqual(self.pod_with(lambda pod: None).name, "vfiogate-default")
        for words, change in changes.items():
            with self.subTest(words), self.assertRaisesRegex(ManifestError, words):
                self.pod_with(change)


def enter_place() -> None:
    """Files that go with the mount namespace, however this ends, as processes go with theirs."""
    Case.root = pathlib.Path("/media")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", Case.root], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def main():
    Case.programs, words = against_programs.arguments(__doc__)
    if os.geteuid() != 0 or not pathlib.Path("/dev/fuse").exists():
        against_programs.skip("it needs root and /dev/fuse")
    try:
        pod_seccomp.of_runtimes()
    except pod_seccomp.Unavailable as reason:
        against_programs.skip(str(reason))
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "yes"
        if not words or any(word.startswith(Overlays.__name__) for word in words):
            pod_sources.fetch_kubectl()
        os.execvp("unshare", ["unshare", *APART, sys.executable, *sys.argv])
    enter_place()
    against_programs.run(words)


if __name__ == "__main__":
    main()
