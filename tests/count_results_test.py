#!/usr/bin/env python3
"""How results are counted: nothing that went wrong may look like something that passed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "count_results.py"
CASES = """<testsuites><testsuite name="A">
<testcase name="Good" status="run" result="completed" classname="A"/>{}
</testsuite></testsuites>"""
BAD = '<testcase name="Bad" status="run" result="completed" classname="A"><failure>a.cc:7\nwrong</failure></testcase>'
LEFT = '<testcase name="Left" status="run" result="skipped" classname="A"><skipped message="a.cc:9&#x0A;no disk"/></testcase>'


def line(program: str, outcome: str) -> str:
    return f" 6/50 Test #20: {program} {'.' * 18}{outcome}  43.63 sec\n"


class Counting(unittest.TestCase):
    def count(self, log: str, results: dict[str, str] | None = None) -> list[str]:
        return [said for said in self.whole(log, results) if not said.startswith("output")]

    def whole(self, log: str, results: dict[str, str] | None = None) -> list[str]:
        with tempfile.TemporaryDirectory() as place:
            directory = pathlib.Path(place)
            for name, text in (results or {}).items():
                (directory / f"{name}.xml").write_text(text)
            (directory / "log").write_text(log)
            done = subprocess.run([sys.executable, SCRIPT, place, directory / "log"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [said for said in done.stdout.splitlines() if said]

    def test_cases_count_each(self):
        said = self.count(line("a_test", "***Failed"), {"a_test": CASES.format(BAD + LEFT)})
        self.assertEqual(said, ["passed\t1", "failed\tA.Bad", "skipped\tA.Left: no disk"])

    def test_a_program_that_leaves_no_results_is_one_test(self):
        self.assertEqual(self.count(line("docs_test", "   Passed")), ["passed\t1"])

    def test_every_bad_end_is_a_failure(self):
        for outcome in ("***Failed", "***Timeout 300.19 sec", "***Exception: SegFault", "***Not Run", "***Exception: Illegal",
                        "Subprocess aborted***Exception:", "Child aborted***Exception:", "Subprocess killed***Exception:"):
            with self.subTest(outcome):
                said = self.count(line("good_test", "   Passed") + line("b_test", outcome))
                self.assertEqual(said[0], "passed\t1")
                self.assertEqual(len(said), 2)
                self.assertTrue(said[1].startswith("failed\tb_test ("), said)

    def test_one_that_fails_hides_no_other(self):
        log = line("a_test", "***Failed") + line("b_test", "***Timeout")
        said = self.count(log, {"a_test": CASES.format(BAD), "b_test": CASES.format("")})
        self.assertEqual(said, ["passed\t2", "failed\tA.Bad", "failed\tb_test (Timeout)"])

    def test_what_only_the_summary_calls_failed_fails(self):
        log = line("a_test", "   Passed") + "\nThe following tests FAILED:\n\t 27 - lost_test (BAD_COMMAND)\nErrors while running CTest\n"
        self.assertEqual(self.count(log), ["passed\t1", "failed\tlost_test (BAD_COMMAND)"])

    def test_a_skipped_program_is_named(self):
        said = self.count(line("a_test", "   Passed") + line("deploy_chart_test", "***Skipped"))
        self.assertEqual(said, ["passed\t1", "skipped\tdeploy_chart_test: run it alone to see why"])

    def test_a_skipped_program_that_left_its_reasons_is_counted_by_case(self):
        said = self.count(line("a_test", "***Skipped"), {"a_test": CASES.format(LEFT)})
        self.assertEqual(said, ["passed\t1", "skipped\tA.Left: no disk"])

    def test_what_a_case_measured_is_shown(self):
        text = '<testcase name="Timed" status="run" result="completed" classname="A"><measured>it took 3 s</measured></testcase>'
        self.assertEqual(self.whole(line("a_test", "   Passed"), {"a_test": CASES.format(text)}),
                         ["passed\t2", "output\tA.Timed: it took 3 s"])

    def test_no_test_at_all_is_an_error(self):
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "log").write_text("No tests were found!!!\n")
            done = subprocess.run([sys.executable, SCRIPT, place, pathlib.Path(place) / "log"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no test ran", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
