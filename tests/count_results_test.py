#!/usr/bin/env python3
"""How results are counted: nothing that went wrong may look like something that passed. Each test is a ctest of its own."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "count_results.py"
BEGIN, GOOD, BAD, LEFT = "[ RUN      ] {0}", "[       OK ] {0} (1 ms)", "[  FAILED  ] {0} (1 ms)", "[  SKIPPED ] {0} (1 ms)"
AS_A_CASE = 'SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]"'  # as gtest_discover_tests has it


def says(*lines: str, case: str = "A.One", end: str = "exit 0") -> str:
    """A shell script that prints them and ends so."""
    return "\n".join([f"echo '{line.format(case)}'" for line in lines] + [end])


class Counting(unittest.TestCase):
    def run_tests(self, place: pathlib.Path, tests: dict[str, str], properties: str) -> subprocess.CompletedProcess:
        listed = ""
        for name, script in tests.items():
            (place / f"{name}.sh").write_text(script)
            program = f"/bin/sh {place}/{name}.sh" if script else f"{place}/not-built"
            listed += f"add_test({name} {program})\nset_tests_properties({name} PROPERTIES TIMEOUT 20 {properties})\n"
        (place / "CTestTestfile.cmake").write_text(listed)
        with (place / "log").open("w") as log:
            subprocess.run(["ctest", "--test-dir", place, "--output-junit", place / "results.xml"], stdout=log, stderr=log, check=False)
        return subprocess.run([sys.executable, SCRIPT, place / "results.xml", place / "log"], capture_output=True, text=True, check=False)

    def whole(self, tests: dict[str, str], properties: str = "") -> list[str]:
        with tempfile.TemporaryDirectory() as place:
            done = self.run_tests(pathlib.Path(place), tests, properties)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [said for said in done.stdout.splitlines() if said]

    def count(self, tests: dict[str, str], properties: str = "") -> list[str]:
        return [said for said in self.whole(tests, properties) if not said.startswith("output")]

    def test_a_case_that_passes(self):
        self.assertEqual(self.count({"a_test.A.One": says(BEGIN, GOOD)}), ["passed\t1"])

    def test_what_is_no_googletest_program_is_one_test(self):
        self.assertEqual(self.count({"docs_test": "exit 0", "other_test": "exit 1"}), ["passed\t1", "failed\tother_test (Failed)"])

    def test_a_failure_is_shown_with_each_assertion_and_the_seed(self):
        said = self.whole({"a_test.A.One": says(BEGIN, "seed 7", "noise", "a.cc:7: Failure", "wrong", "a.cc:9: Failure", "too", BAD,
                                                "[  FAILED  ] 1 test, listed below:", BAD, end="exit 1")})
        self.assertEqual(said, ["passed\t0", "failed\ta_test.A.One", "output\t    seed 7", "output\t    a.cc:7: Failure",
                                "output\t    wrong", "output\t    a.cc:9: Failure", "output\t    too"])

    def test_a_skip_is_counted_with_its_reason(self):
        script = says(BEGIN, "a.cc:9: Skipped", "no disk", "", "torn down", LEFT)
        for properties in (AS_A_CASE, ""):
            with self.subTest(properties):
                self.assertEqual(self.count({"a_test.A.One": script}, properties), ["passed\t0", "skipped\ta_test.A.One: no disk"])

    def test_a_skip_by_exit_status_is_counted_with_what_was_said_last(self):
        said = self.count({"deploy_test": "echo skipped: no helm here; exit 77", "mute_test": "exit 77"}, "SKIP_RETURN_CODE 77")
        self.assertEqual(said, ["passed\t0", "skipped\tdeploy_test: no helm here", "skipped\tmute_test: no reason given"])

    def test_a_case_that_failed_is_not_skipped_whatever_else_it_said(self):
        said = self.count({"a_test.A.One": says(BEGIN, LEFT.format("A.Other"), BAD, end="exit 1")}, AS_A_CASE)
        self.assertEqual(said, ["passed\t0", "failed\ta_test.A.One"])

    def test_every_bad_end_is_a_failure(self):
        for end, why in {"exit 3": "Failed", "kill -SEGV $$": "SEGFAULT", "kill -ILL $$": "ILLEGAL", "kill -ABRT $$": "Subprocess aborted",
                         "kill -KILL $$": "Subprocess killed"}.items():
            with self.subTest(end):
                self.assertEqual(self.count({"a_test": says(end=end)}), ["passed\t0", f"failed\ta_test ({why})"])
                said = self.count({"a_test.A.One": says(BEGIN, "words", end=end)})
                self.assertEqual(said, ["passed\t0", f"failed\ta_test.A.One ({why})"])

    def test_a_timeout_is_a_failure(self):
        self.assertEqual(self.count({"a_test.A.One": says(BEGIN, end="exec sleep 60")}, "TIMEOUT 1"),
                         ["passed\t0", "failed\ta_test.A.One (Timeout)"])

    def test_what_was_not_built_is_a_failure(self):
        self.assertEqual(self.count({"lost_test_NOT_BUILT": ""}), ["passed\t0", "failed\tlost_test_NOT_BUILT (Not Run)"])

    def test_a_bad_end_after_every_case_passed_is_a_failure(self):
        said = self.count({"a_test.A.One": says(BEGIN, GOOD, end="exit 1")})
        self.assertEqual(said, ["passed\t1", "failed\ta_test.A.One (Failed)"])

    def test_a_case_that_ends_the_program_is_a_failure(self):
        self.assertEqual(self.count({"a_test.A.One": says(BEGIN)}), ["passed\t0", "failed\ta_test.A.One (did not end)"])

    def test_a_program_that_is_run_whole_is_counted_by_case(self):
        script = "\n".join([says(BEGIN, GOOD, end=""), says(BEGIN, LEFT, case="A.Two", end=""), says(BEGIN, "x", BAD, case="A.Three", end=""),
                            says(BEGIN, "child says" + GOOD, case="A.Four", end=""), says(BEGIN, case="A.Five", end="kill -SEGV $$")])
        self.assertEqual(self.count({"a_test": script}), ["passed\t2", "skipped\ta_test.A.Two: no reason given", "failed\ta_test.A.Three",
                                                          "failed\ta_test.A.Five (SEGFAULT)"])

    def test_one_that_fails_hides_no_other(self):
        said = self.count({"a_test.A.One": says(BEGIN, BAD, end="exit 1"), "b_test.A.One": says(BEGIN, GOOD), "c_test": "exit 1"})
        self.assertEqual(said, ["passed\t1", "failed\ta_test.A.One", "failed\tc_test (Failed)"])

    def test_what_a_case_measured_is_shown(self):
        self.assertEqual(self.whole({"a_test": "echo measured: A.Timed: it took 3 s"}), ["passed\t1", "output\tA.Timed: it took 3 s"])

    def test_no_test_at_all_is_an_error(self):
        with tempfile.TemporaryDirectory() as place:
            done = self.run_tests(pathlib.Path(place), {}, "")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no test ran", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
