#!/usr/bin/env python3
"""deploy/helm/vfiogate/plugin/kubectl-vfiogate against a played kubectl: what it asks, what it prints, what it says where it cannot."""

import copy
import datetime
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PLUGIN = HERE.parents[1] / "deploy/helm/vfiogate/plugin/kubectl-vfiogate"


def pod(name: str, node: str, state: dict | None = None, **metadata: str) -> dict:
    statuses = [{"name": one, "state": state or {"running": {}}} for one in ("privd-hardware", "privd-gate", "plugind")]
    return {"metadata": {"name": name, **metadata}, "spec": {"nodeName": node},
            "status": {"phase": "Running", "containerStatuses": statuses}}


def device(address: str, group: int, **more: object) -> dict:
    return {"address": address, "model": "10de:2684", "driver": "vfio-pci", "group": group, "members": [address], "health": "healthy",
            "state": "free", "use": "idle", "hardware": "ready", "reason": "offered"} | more


def status(*devices: dict, **more: object) -> dict:
    card = {"name": "vfiogate.dev/card", "serve": "plugin", "registered": True, "registration": "standing", "devices": list(devices)}
    return {"privd": {"there": True}, "allocation": "open", "adoption": "done", "resources": [card], "gone": [], "leftOut": [],
            "obstacles": []} | more


HOLDER = {"ref": "38c7", "state": "allocated", "since": "2020-11-23T21:43:04Z", "resource": "vfiogate.dev/card",
          "devices": ["0000:01:00.0"], "pod": "shop/vm-1"}
ALLOCATED = device("0000:01:00.0", 12, members=["0000:01:00.0", "0000:01:00.1"], state="allocated", holders=[HOLDER])
LISTED = {"address": "0000:01:00.0", "vendor": "10de", "device": "2684", "name": "AD102", "driver": "vfio-pci", "iommuGroup": 12,
          "state": "passable", "reason": None}
TWO_NODES = {
    "pods": [pod("p-b", "b"), pod("p-a", "a")],
    "said": {
        "p-a status": status(ALLOCATED, leftOut=[{"address": "0000:03:00.0", "reason": "unmatched", "text": "no entry selects it"}]),
        "p-b status": status(device("0000:01:00.0", 7), device("0000:02:00.0", 8, health="unhealthy", reason="host-driver", use="open")),
        "p-a explain": {"address": "0000:01:00.0", "present": True, "resource": "vfiogate.dev/card", "reason": "offered",
                        "lines": ["the kubelet sees it, Healthy"]},
        "p-b explain": {"address": "0000:01:00.0", "present": False, "resource": None, "reason": "gone", "lines": ["no such device"]},
        "p-a list": {"version": 1, "devices": [LISTED, LISTED | {"address": "0000:00:01.0", "state": "bridge", "reason": "a bridge"}]},
        "p-b list": {"version": 1, "devices": []},
        "p-a doctor": {"findings": [{"code": "iommu", "level": "problem", "subject": None, "what": "the IOMMU is off", "fix": "turn it on"},
                                    {"code": "landlock", "level": "ok", "subject": None, "what": "fine", "fix": None}]},
        "p-b doctor": {"findings": []},
    },
    "ends": {"p-a doctor": 1},
}


class Plugin(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        (self.place / "kubectl").symlink_to(HERE / "played_kubectl.py")

    def ask(self, *words: str, played: dict = TWO_NODES, path: str | None = None) -> subprocess.CompletedProcess:
        file = self.place / "played.json"
        file.write_text(json.dumps(played))
        environment = os.environ | {"PATH": path or f"{self.place}:{os.environ['PATH']}", "PLAYED_KUBECTL": str(file), "TZ": "CET-1"}
        return subprocess.run([PLUGIN, *words], env=environment, capture_output=True, text=True, timeout=60)

    def lines(self, *words: str, played: dict = TWO_NODES, code: int = 0) -> list[str]:
        done = self.ask(*words, played=played)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    def completed(self, *words: str) -> list[str]:
        """As kubectl asks, which looks for this name in PATH."""
        file = self.place / "played.json"
        file.write_text(json.dumps(TWO_NODES))
        environment = os.environ | {"PATH": f"{self.place}:{os.environ['PATH']}", "PLAYED_KUBECTL": str(file)}
        done = subprocess.run([PLUGIN.with_name("kubectl_complete-vfiogate"), *words], env=environment, capture_output=True, text=True,
                              timeout=60, check=True)
        self.assertEqual(done.stderr, "")
        *found, directive = done.stdout.splitlines()
        self.assertEqual(directive, ":4")
        return found

    def test_completes_commands_options_and_nodes(self):
        self.assertEqual(self.completed(""), ["list", "status", "explain", "who-has", "doctor"])
        self.assertEqual(self.completed("s"), ["status"])
        self.assertEqual(self.completed("status", "--no"), ["--node"])
        self.assertEqual(self.completed("status", "--a"), ["--as"])
        self.assertEqual(self.completed("doctor", "--a"), ["--as", "--all"])
        self.assertEqual(self.completed("status", "--node", ""), ["a", "b"])
        self.assertEqual(self.completed("status", "-o", "j"), ["json"])
        self.assertEqual(self.completed("--node", "a", "d"), ["doctor"])
        self.assertEqual(self.completed("explain", ""), [])

    def test_completes_each_command_that_there_is(self):
        helped = self.ask("--help").stdout
        for command in self.completed(""):
            self.assertRegex(helped, rf"(?m)^\s+{command}\s")

    def test_status_of_all_nodes_is_one_table(self):
        self.assertEqual(self.lines("status"), [
            "NODE RESOURCE DEVICE GROUP HEALTH STATE SINCE HOLDER REASON",
            "a vfiogate.dev/card 0000:01:00.0 12 healthy allocated 2020-11-23 22:43 shop/vm-1 ref=38c7 offered",
            "b vfiogate.dev/card 0000:01:00.0 7 healthy free - - offered",
            "b vfiogate.dev/card 0000:02:00.0 8 unhealthy free - - host-driver",
            "nodes: 2, free groups: 1, groups in use: 1"])

    def test_a_time_of_today_is_the_readers_without_a_date(self):
        played = copy.deepcopy(TWO_NODES)
        now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        holder = HOLDER | {"since": now.strftime("%Y-%m-%dT%H:%M:%SZ")}
        played["said"]["p-a status"] = status(device("0000:01:00.0", 12, state="allocated", holders=[holder]))
        here = (now + datetime.timedelta(hours=1)).strftime("%H:%M:%S")
        self.assertIn(f" allocated {here} shop/vm-1 ", self.lines("status", played=played)[1])

    def test_one_node(self):
        self.assertEqual(len(self.lines("status", "--node", "a")), 3)

    def test_a_nodes_troubles_stand_below_the_table(self):
        refused = status()["resources"][0] | {"registered": False, "registration": "refused", "trouble": "Unimplemented"}
        played = copy.deepcopy(TWO_NODES)
        played["said"]["p-a status"] = status(privd={"there": False}, allocation="closed", resources=[refused],
                                              obstacles=[{"reason": "no-vfio", "text": "load it"}],
                                              gone=[{"members": ["0000:09:00.0"], "holders": [HOLDER]}])
        self.assertEqual(self.lines("status", "--node=a", played=played)[1:], [
            "a: privd is away: nothing is allocated", "a: no-vfio: load it",
            "a: vfiogate.dev/card is not registered with the kubelet: Unimplemented",
            "a: gone while allocated: 0000:09:00.0, shop/vm-1 ref=38c7", "nodes: 1, free groups: 0, groups in use: 0"])

    def test_list_leaves_out_the_machines_own_parts(self):
        first = "a 12 0000:01:00.0 10de:2684 AD102 vfio-pci passable -"
        self.assertEqual(self.lines("list")[1:], [first, "1 bridges and other parts of the machines: --all shows them"])
        self.assertIn("a 12 0000:00:01.0 10de:2684 AD102 vfio-pci bridge a bridge", self.lines("list", "--all"))

    def test_explain_names_the_nodes_that_have_it(self):
        self.assertEqual(self.lines("explain", "01:00.0"), ["a: 0000:01:00.0: offered", "the kubelet sees it, Healthy"])
        done = self.ask("explain", "01:00.0", "--node", "b")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("0000:01:00.0 is on none of: b; `kubectl vfiogate list`", done.stderr)

    def test_who_has(self):
        row = "a 0000:01:00.0 12 shop/vm-1 ref=38c7 vfiogate.dev/card allocated 2020-11-23 22:43"
        for words, wanted in {
            ("01:00.0",): [row, "b 0000:01:00.0 7 nobody vfiogate.dev/card free -"],
            ("0000:01:00.1",): [row],  # the other function of its group
            ("02:00.0",): ["b 0000:02:00.0 8 no pod; something on the node has it open vfiogate.dev/card free -"],
            (): [row],
        }.items():
            self.assertEqual(self.lines("who-has", *words)[1:], wanted, words)
        self.assertEqual(self.lines("who-has", "03:00.0"),
                         ["a: 0000:03:00.0 falls into no resource, vfiogate gave it to nobody: no entry selects it"])
        self.assertEqual(self.ask("who-has", "99:00.0").returncode, 1)

    def test_doctor_ends_with_1_where_there_is_a_problem(self):
        self.assertEqual(self.lines("doctor", code=1),
                         ["a: 1 problems and warnings", "problem: iommu: the IOMMU is off", "fix: turn it on", "b: 0 problems and warnings"])
        self.assertIn("ok: landlock: fine", self.lines("doctor", "--all", code=1))
        self.assertEqual(self.ask("doctor", "-o", "json").returncode, 1)
        self.assertEqual(self.lines("doctor", "--node", "b"), ["b: 0 problems and warnings"])

    def test_json_has_each_node_with_what_it_said(self):
        played = copy.deepcopy(TWO_NODES)
        del played["said"]["p-b status"]
        done = self.ask("status", "-o", "json", played=played)
        self.assertEqual(done.returncode, 1)
        a, b = json.loads(done.stdout)["nodes"]
        self.assertEqual((a["node"], a["pod"], a["said"]), ("a", "p-a", played["said"]["p-a status"]))
        self.assertEqual((b["node"], b["error"]), ("b", "plugind: no answer from /run/vfiogate/plugind/plugind.sock"))

    def test_a_node_that_does_not_answer_hides_no_other(self):
        played = copy.deepcopy(TWO_NODES)
        del played["said"]["p-b status"]
        done = self.ask("status", played=played)
        self.assertEqual(done.returncode, 1)
        self.assertIn("shop/vm-1", done.stdout)
        self.assertEqual(done.stderr, "kubectl-vfiogate: node b: plugind: no answer from /run/vfiogate/plugind/plugind.sock\n")

    def test_what_cannot_be_asked_is_said_with_what_would_help(self):
        waiting = pod("p", "a", {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}})
        pending = {"metadata": {"name": "p"}, "spec": {"nodeName": "a"}, "status": {"phase": "Pending"}}
        forbidden = 'Error from server (Forbidden): pods is forbidden: User "eve" cannot list resource "pods"'
        rows = {
            "no pods": ({"pods": []}, ["there is no pod of vfiogate in namespace vfiogate", "--namespace", "--all-namespaces"]),
            "none on a node": ({"pods": [pod("p", "")]}, ["is on a node yet", "describe pods"]),
            "ends already": ({"pods": [pod("p", "a", deletionTimestamp="2026")]}, ["there is no pod of vfiogate"]),
            "not ready": ({"pods": [waiting]}, ["node a: container plugind of pod p does not run: waiting: CrashLoopBackOff, back-off 10s",
                                                "kubectl -n vfiogate logs p -c plugind --previous"]),
            "not started": ({"pods": [pending]}, ["node a: pod p is Pending", "describe pod p"]),
            "may not list": ({"refused": {"get": forbidden}}, [forbidden, "needed in namespace vfiogate: pods get, list"]),
            "may not exec": ({"pods": [pod("p", "a")], "refused": {"exec": "error: pods is Forbidden"}}, ["node a: ", "pods/exec create"]),
            "no server": ({"refused": {"get": 'E1123 21:45:11.3 1 x.go:2] "Unhandled"\nThe connection was refused'}},
                          ["kubectl-vfiogate: The connection was refused\n"]),
            "no JSON": ({"pods": [pod("p", "a")], "said": {"p status": "hello\x1b[2J"}}, ["answered with no JSON: hello?[2J"]),
        }
        for what, (played, wanted) in rows.items():
            done = self.ask("status", played={"pods": [], "said": {}} | played)
            self.assertEqual((done.returncode, done.stdout), (1, ""), what)
            for text in wanted:
                self.assertIn(text, done.stderr, what)
        done = self.ask("status", "--node", "c")
        self.assertIn("node c has no pod of vfiogate; these have one: a, b", done.stderr)

    def test_usage_is_2(self):
        for words in ([], ["lst"], ["explain"], ["explain", "zz"], ["status", "-o", "yaml"], ["status", "--nod", "a"]):
            done = self.ask(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("usage: kubectl vfiogate", done.stderr)
        for words in (["--help"], ["status", "--help"]):
            self.assertIn("usage: kubectl vfiogate", self.ask(*words).stdout)

    def test_without_kubectl(self):
        (self.place / "none").mkdir()
        python = pathlib.Path(subprocess.run(["python3", "-c", "import sys; print(sys.executable)"], capture_output=True, text=True,
                                             check=True).stdout.strip())
        (self.place / "none/python3").symlink_to(python)
        (self.place / "none/env").symlink_to("/usr/bin/env")
        done = self.ask("status", path=str(self.place / "none"))
        self.assertEqual((done.returncode, done.stderr), (1, "kubectl-vfiogate: there is no kubectl in PATH\n"))

    def test_a_pod_whose_container_runs_is_asked_where_a_node_has_two(self):
        waiting = pod("p-z", "a", {"waiting": {"reason": "x"}})
        self.lines("status", played=TWO_NODES | {"pods": [pod("p-a", "a"), waiting]})

    def test_kubectl_is_told_which_cluster_and_namespace(self):
        self.lines("status", "-n", "other", "--context", "x", "--kubeconfig", "/k", "--as", "eve")
        calls = [json.loads(line) for line in (self.place / "played.calls").read_text().splitlines()]
        self.assertEqual(len(calls), 3)
        for call in calls:
            self.assertEqual(call[:5], ["--namespace", "other", "--kubeconfig=/k", "--context=x", "--as=eve"])
        self.assertEqual([call[5:] for call in calls if "p-a" in call],
                         [["exec", "p-a", "--container", "plugind", "--", "/usr/bin/plugind", "status", "--output=json", "--timeout=5000"]])


if __name__ == "__main__":
    unittest.main()
