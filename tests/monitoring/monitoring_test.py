#!/usr/bin/env python3
"""What is measured and shown: alerts by promtool, names of metrics by promtool and docs/metrics.md, the dashboard by a real
Prometheus that scrapes a node under load, its picture by docs/draw_dashboard.py. Exit 77: Prometheus cannot be had here.
What needs a simulated node is skipped, with the reason, where there can be none."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import unittest

import node_under_load
from node_under_load import DASHBOARD, HERE, TREE, queries

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

RULES = DASHBOARD.parent / "rules.yaml"
OPERATIONS = "docs/operations.md"


def alerts() -> list[dict]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def metric_names(expression: str) -> set[str]:
    names = re.findall(r"\b(?:vfiogate|process)_[a-z_]+", re.sub(r'"[^"]*"', "", expression))
    return {re.sub(r"_bucket$", "", name) for name in names}


class Case(unittest.TestCase):
    maxDiff = None
    programs = tools = pathlib.Path()

    def promtool(self, *words, **options) -> subprocess.CompletedProcess:
        command = [str(self.tools / "promtool"), *(str(word) for word in words)]
        return subprocess.run(command, capture_output=True, text=True, **options)


class Alerts(Case):
    def test_each_fires_on_what_it_is_for_and_none_on_a_node_that_is_well(self):
        done = self.promtool("test", "rules", HERE / "rules_test.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_has_a_case(self):
        cases = yaml.safe_load((HERE / "rules_test.yaml").read_text())["tests"]
        names = [alert["alert"] for alert in alerts()]
        self.assertEqual(sorted(case["name"] for case in cases[1:]), sorted(names))
        self.assertEqual(sorted(one["alertname"] for one in cases[0]["alert_rule_test"]), sorted(names))
        for case in cases[1:]:
            self.assertTrue(any(one.get("exp_alerts") for one in case["alert_rule_test"]), case["name"])

    def test_each_has_a_runbook(self):
        sections = re.findall(r"^### (\w+)$", (TREE / OPERATIONS).read_text(), re.MULTILINE)
        self.assertEqual(sorted(sections), sorted(alert["alert"] for alert in alerts()))
        for alert in alerts():
            self.assertEqual(alert["annotations"]["runbook_url"], f"{OPERATIONS}#{alert['alert'].lower()}")

    def test_a_wrong_rule_is_seen(self):
        changed = RULES.read_text().replace("vfiogate_groups_disputed > 0", "vfiogate_groups_disputed > 1")
        with node_under_load.tempfile.TemporaryDirectory() as place:
            there = pathlib.Path(place)
            (there / "rules.yaml").write_text(changed)
            (there / "test.yaml").write_text(re.sub(r"rule_files: .*", "rule_files: [rules.yaml]", (HERE / "rules_test.yaml").read_text()))
            done = self.promtool("test", "rules", there / "test.yaml")
        self.assertIn("VfiogateGroupDisputed", done.stdout + done.stderr)
        self.assertNotEqual(done.returncode, 0)


class Names(Case):
    def test_alerts_and_panels_ask_for_what_is_in_the_page(self):
        page = set(re.findall(r"^\| `(\w+)` \|", (TREE / "docs/metrics.md").read_text(), re.MULTILINE))
        asked = [alert["expr"] for alert in alerts()] + [target["expr"] for _, target in queries(json.loads(DASHBOARD.read_text()))]
        self.assertEqual(metric_names('a_bucket{x="vfiogate_no"} + vfiogate_up_bucket'), {"vfiogate_up"})
        for expression in asked:
            self.assertEqual(metric_names(expression) - page, set(), expression)


class Picture(Case):
    def test_is_drawn_from_the_dashboard_and_the_kept_answers(self):
        done = subprocess.run([TREE / "docs/draw_dashboard.py"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, (TREE / "docs/dashboard.svg").read_text(), "docs/draw_dashboard.py > docs/dashboard.svg")

    def test_has_an_answer_to_each_query(self):
        kept = json.loads((TREE / "docs/dashboard-data.json").read_text())[1:]
        wanted = [(panel["id"], target["refId"]) for panel, target in queries(json.loads(DASHBOARD.read_text()))]
        self.assertEqual([(one["panel"], one["target"]) for one in kept], wanted)
        self.assertEqual([one for one in kept if not one["series"]], [])


class Node(Case):
    """The node is brought up once, by the first case."""

    def test_a_node_under_load(self):
        if why := node_under_load.missing(self.tools):
            self.skipTest(why)
        with node_under_load.node_under_load(self.programs, self.tools) as node:
            with self.subTest("each panel's query has an answer"):
                for one in node_under_load.answers(node)[1:]:
                    self.assertTrue(one["series"], f"panel {one['panel']}, target {one['target']}")
            with self.subTest("each alert can be evaluated"):
                health = {rule["name"]: rule["health"] for rule in node.rules()}
                self.assertEqual(health, {alert["alert"]: "ok" for alert in alerts()})
            with self.subTest("promtool has no remark on the names"):
                self.assert_clean(node_under_load.fetched(node.url), "vfiogate_plugind_up 1")
            with self.subTest("metrics are answered without plugind"):
                node.say("down")
                node.await_sample("vfiogate_plugind_up == 0")
                self.assert_clean(node_under_load.fetched(node.url), "vfiogate_plugind_up 0")
                self.assertEqual(len(node.ask("query", query="up == 1")), 1)

    def assert_clean(self, scrape: str, line: str):
        self.assertIn(f"\n{line}\n", scrape)
        done = self.promtool("check", "metrics", input=scrape)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    known, rest = options.parse_known_args()
    tools = node_under_load.prometheus_tools()
    if tools is None:
        print("skipped: Prometheus is neither installed nor can it be downloaded")
        return 77
    Case.programs, Case.tools = known.programs, tools
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
