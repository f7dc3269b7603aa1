"""The command line and the end of a Python test that is run against the built programs."""

import argparse
import pathlib
import sys
import unittest

SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def arguments(doc: str) -> tuple[pathlib.Path, list[str]]:
    """The directory of the programs, and the words that are for unittest."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIR", help="where they were built")
    known, rest = parser.parse_known_args()
    return known.programs.resolve(), rest


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(words: list[str]) -> None:
    """Ends the process: 0, 1 after a failure, 77 where every test was skipped."""
    result = unittest.main(argv=[sys.argv[0], *words], verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    if len(result.skipped) >= result.testsRun:
        skip(result.skipped[0][1] if result.skipped else "no such test")
