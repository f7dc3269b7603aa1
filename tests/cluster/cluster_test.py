#!/usr/bin/env python3
"""The cases of tests/cluster, to be run inside the node by run.sh. Exit 77: every case was skipped."""

import argparse
import pathlib
import sys
import tempfile
import unittest

import results
from case import Case
from node import Node
from pods import STATIC_PODS, Pods
from watch import Watch

SKIPPED = 77
MODULES = ("witness_cases", "shipped_cases", "page_cases", "allocation_cases", "kubelet_cases", "lost_checkpoint_cases",
           "claim_cases", "removal_cases", "overlay_cases", "binding_cases", "update_cases", "dra_cases", "version_cases",
           "security_cases", "set_cases", "kubevirt_cases", "serial_cases", "plugin_cases", "churn_cases", "same_kubelet_cases")


def flat(suite) -> list[unittest.TestCase]:
    return [case for one in suite for case in (flat(one) if isinstance(one, unittest.TestSuite) else [one])]


def all_cases() -> list[Case]:
    found = flat(unittest.defaultTestLoader.loadTestsFromNames(MODULES))
    broken = [case for case in found if not isinstance(case, Case)]
    if broken:
        raise SystemExit(f"cannot load: {broken}")
    return found


def chosen(cases: list[Case], names: list[str], full: bool) -> list[Case]:
    """By class or by class and case; without a name those of the default run, with `full` all."""
    unknown = [name for name in names if not any(is_called(case, name) for case in cases)]
    if unknown:
        raise SystemExit(f"no such case: {', '.join(unknown)} (see --list)")
    if names:
        return [case for case in cases if any(is_called(case, name) for name in names)]
    return [case for case in cases if full or not case.long]


def is_called(case: Case, name: str) -> bool:
    of, method = results.name_of(case)
    return name in (of, f"{of}.{method}")


def show(cases: list[Case]) -> None:
    for case in cases:
        print(f"{'.'.join(results.name_of(case))}{'  (--full)' if case.long else ''}")


def run(cases: list[Case]) -> int:
    Case.node = Node()
    Case.pods = Pods(Case.node)
    STATIC_PODS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=Case.node.directory) as place:
        Case.place = pathlib.Path(place)
        Case.place.chmod(0o755)
        Case.witness = Watch(Case.place / "witness.jsonl")
        runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=0, resultclass=results.Results)
        done = runner.run(unittest.TestSuite(cases))
        seen = Case.witness.end()
    print(f"witness: {seen['looks']} looks, at most {seen['longest']} s between two")
    if not done.wasSuccessful():
        return 1
    return SKIPPED if done.testsRun and len(done.skipped) >= done.testsRun else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    wish = parser.parse_args()
    cases = chosen(all_cases(), wish.cases, wish.full)
    if wish.list:
        show(cases)
        return 0
    Case.programs = wish.programs.resolve()
    return run(cases)


if __name__ == "__main__":
    sys.exit(main())
