#!/usr/bin/env python3
"""What stands of the full run: a step that was not seen to its end on what is there now must not look as if it was."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import full_runs
from full_runs import Step, Wrong

STEPS = (Step("one", 10, ("code",), "the code"), Step("two", 20, ("code", "docs"), "more"))


class Standing(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.tree = pathlib.Path(place.name)
        for folder in ("code", "docs", "tests"):
            (self.tree / folder).mkdir()
        full_runs.git("init", "-q", tree=self.tree)
        self.commit("code/a", "1")

    def commit(self, file: str, text: str, *amend: str) -> None:
        (self.tree / file).write_text(text)
        full_runs.git("add", ".", tree=self.tree)
        full_runs.git("-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "-m", "c", *amend, tree=self.tree)

    def record(self, step: str, failed: int = 0, passed: int = 7, skipped: int = 0) -> None:
        full_runs.record(step, [3, passed, failed, skipped], self.tree, STEPS)

    def verdicts(self) -> list[str]:
        lines, self.complete = full_runs.table(self.tree, STEPS)
        return [line.split(" | ")[-1].rstrip(" |") for line in lines[2:4]]

    def test_nothing_stands_before_it_was_run(self) -> None:
        self.assertEqual(self.verdicts(), ["never run to its end"] * 2)
        self.assertFalse(self.complete)

    def test_all_stand_once_each_was_run(self) -> None:
        self.record("one")
        self.assertEqual(self.verdicts()[0], "yes")
        self.assertFalse(self.complete)
        self.record("two")
        self.assertEqual(self.verdicts(), ["yes", "yes"])
        self.assertTrue(self.complete)

    def test_a_failure_does_not_stand(self) -> None:
        self.record("one", failed=1)
        self.assertEqual(self.verdicts()[0], "no: it failed")

    def test_what_was_skipped_whole_does_not_stand(self) -> None:
        self.record("one", passed=0, skipped=1)
        self.record("two", skipped=1)
        self.assertEqual(self.verdicts(), ["no: it was skipped", "yes"])

    def test_what_changed_stands_no_longer_and_the_rest_does(self) -> None:
        self.record("one")
        self.record("two")
        self.commit("docs/page.md", "text")
        self.assertEqual(self.verdicts(), ["yes", "no: what it tests has changed"])
        (self.tree / "code/a").write_text("not committed")
        self.assertEqual(self.verdicts()[0], "no: what it tests has changed")

    def test_a_folder_that_the_step_has_nothing_of_changes_nothing(self) -> None:
        steps = (Step("one", 10, ("code",), "the code", ("code/other",)),)
        full_runs.record("one", [3, 7, 0, 0], self.tree, steps)
        (self.tree / "code/other").mkdir()
        self.commit("code/other/b", "2")
        self.assertTrue(full_runs.table(self.tree, steps)[1])
        self.commit("code/others", "3")
        self.assertFalse(full_runs.table(self.tree, steps)[1])

    def test_the_record_and_the_results_change_nothing(self) -> None:
        self.record("two")
        self.commit("docs/results.md", "seen")
        self.assertEqual(self.verdicts()[1], "yes")

    def test_the_same_content_in_another_commit_stands(self) -> None:
        self.record("one")
        self.commit("code/a", "1", "--amend", "--date", "2001-01-01T00:00:00Z")
        self.assertEqual(self.verdicts()[0], "yes")

    def test_what_is_not_committed_is_not_recorded(self) -> None:
        (self.tree / "code/a").write_text("not committed")
        with self.assertRaises(Wrong):
            self.record("one")


class Parts(unittest.TestCase):
    def test_have_every_step_once_and_none_takes_too_long(self) -> None:
        for count in (10, 12, len(full_runs.STEPS)):
            parts = full_runs.parts_of(count)
            names = sorted(step.name for part in parts for step in part)
            self.assertEqual(names, sorted(step.name for step in full_runs.STEPS))
            for part in parts:
                self.assertLessEqual(sum(step.minutes for step in part), full_runs.LONGEST)

    def test_are_refused_where_one_would_take_too_long(self) -> None:
        with self.assertRaises(Wrong):
            full_runs.parts_of(2)

    def test_run_sh_has_each_step_and_each_tests_something(self) -> None:
        script = (full_runs.TREE / "tests/run.sh").read_text()
        functions = re.findall(r"^full_(\w+)\(\)", script, re.MULTILINE)
        self.assertEqual(sorted(functions), sorted(step.name for step in full_runs.STEPS))
        for step in full_runs.STEPS:
            for path in (*step.paths, *step.but):
                self.assertTrue((full_runs.TREE / path).exists(), path)

    def test_the_command_line_names_them(self) -> None:
        script = full_runs.TREE / "tests/full_runs.py"
        for words, code in ((["part", "1/13"], 0), (["part", "0/13"], 1), (["part", "1/2"], 1), (["part", "x"], 1)):
            done = subprocess.run([script, *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)


if __name__ == "__main__":
    unittest.main()
