#!/usr/bin/env python3
"""The workflow of .github: no action of anybody's, a token that reads and stays in one step, nothing of a stranger's in a script, scripts
that the shell checker takes, a checkout that gets the commit and leaves no token, and .ci/run as the last step."""

import base64
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

TREE = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted((TREE / ".github/workflows").glob("*.y*ml"))
TOKEN = "not-a-token-but-a-word"


def steps() -> list[dict]:
    (job,) = yaml.safe_load(FILES[0].read_text())["jobs"].values()
    return job["steps"]


class Workflow(unittest.TestCase):
    def test_there_is_one_and_it_uses_no_action(self):
        self.assertEqual([file.name for file in FILES], ["ci.yml"])
        for step in steps():
            self.assertNotIn("uses", step, "somebody else's program")
            self.assertIn("run", step)

    def test_its_token_reads_the_tree_and_nothing_else(self):
        workflow = yaml.safe_load(FILES[0].read_text())
        self.assertEqual(workflow["permissions"], {"contents": "read"})
        for job in workflow["jobs"].values():
            self.assertNotIn("permissions", job)
        self.assertEqual([step["name"] for step in steps() if "token" in str(step).lower()], ["checkout"])
        self.assertNotIn("pull_request_target", workflow[True], "a stranger's commit with our token")  # YAML reads `on` as true

    def test_nothing_is_put_into_a_script_before_the_shell_reads_it(self):
        for step in steps():
            self.assertNotIn("${{", step["run"], "an expression's text would be run")

    def test_it_says_what_it_needs_and_ends_with_ci_run(self):
        comment = re.findall(r"(?m)^#.*", FILES[0].read_text())
        for word in ("root", "/dev/fuse", "Debian 12", "namespaces"):
            self.assertIn(word, " ".join(comment))
        self.assertEqual(steps()[-1]["run"].strip(), ".ci/run")
        self.assertTrue((TREE / ".ci/run").stat().st_mode & 0o111)

    def test_the_shell_checker_takes_its_scripts(self):
        for step in steps():
            checked = subprocess.run(["shellcheck", "--shell=sh", "-"], input=step["run"], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_its_checkout_gets_the_commit_and_leaves_no_token(self):
        (script,) = (step["run"] for step in steps() if step["name"] == "checkout")
        with tempfile.TemporaryDirectory() as place:
            origin = pathlib.Path(place, "origin")
            git = ["git", "-c", "user.name=x", "-c", "user.email=x@x.invalid"]
            subprocess.run([*git, "init", "-q", origin], check=True)
            for _ in range(2):
                subprocess.run([*git, "-C", origin, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
            commit = subprocess.run([*git, "-C", origin, "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True).stdout.strip()
            # A server gives any commit that somebody may read.
            subprocess.run([*git, "-C", origin, "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
            given = {"PATH": "/usr/bin:/bin", "HOME": place, "REPOSITORY": f"file://{origin}", "COMMIT": commit, "TOKEN": TOKEN}
            subprocess.run(["sh", "-eu", "-c", script], cwd=place, env=given, check=True, capture_output=True, text=True)
            tree = pathlib.Path(place, "tree")
            head = subprocess.run(["git", "-C", tree, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
            self.assertEqual(head, commit)
            for file in tree.rglob("*"):
                if file.is_file():
                    for said in (TOKEN.encode(), base64.b64encode(f"x-access-token:{TOKEN}".encode())):
                        self.assertNotIn(said, file.read_bytes(), file)


if __name__ == "__main__":
    unittest.main()
